#include "reference/preflight.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/text.h"
#include "gpu/gpu_detect.h"
#include "graph/cost.h"

namespace stitch::verifier {

namespace {

const Value* largest_of(const Graph& graph) {
  const Value* out = nullptr;
  for (const Value& value : graph.values)
    if (!out || value.type.bytes() > out->type.bytes()) out = &value;
  return out;
}

}  // namespace

Needs needs_of(const Graph& graph) {
  const GraphCost costs = cost(graph);
  // A Linear of 34 GFLOP took 229 s with everything around it, on two cores (2026-11-16).
  constexpr double flops_a_second = 1.6e8, bytes_a_second = 1e8;
  return {.program = static_cast<double>(costs.peak_bytes),
          .reference = 2 * static_cast<double>(costs.peak_bytes),
          .emulated_seconds = costs.total.flops / flops_a_second + costs.total.bytes / bytes_a_second};
}

Room room_here(runner::Device device) {
  Room out{.host = machine_memory()};
  if (device != runner::Device::cuda) return out;
  if (auto driver = detect_gpus(); driver && !driver->gpus.empty()) out.gpu = driver->gpus[0].memory_bytes;
  return out;
}

Result<void> check_room(const Graph& graph, const Needs& needs, const Room& room) {
  // PyTorch may overwrite in place what the graph counts twice: only what is beyond doubt is refused.
  constexpr double doubt = 1.5;
  const bool on_gpu = room.gpu > 0;
  const double need = on_gpu ? needs.program : needs.reference;
  const auto have = static_cast<double>(on_gpu ? room.gpu : room.host.total);
  if (have <= 0 || need <= doubt * have) return {};
  const Value* largest = largest_of(graph);
  return user_error(
      error_code::memory,
      format("its tensors can't fit: the program needs about {}, PyTorch's float64 reference about {}; {} "
             "has {}. The largest tensor is {} {}: {}",
             bytes_text(needs.program), bytes_text(needs.reference), on_gpu ? "this GPU" : "this machine",
             bytes_text(have), largest->name, text(largest->type),
             bytes_text(static_cast<double>(largest->type.bytes()))),
      "make get_inputs() smaller (a smaller batch), or use a machine with more memory");
}

}  // namespace stitch::verifier
