#include "reference/gpu_share.h"

#include <algorithm>
#include <cmath>

#include "gpu/gpu_lock.h"
#include "graph/cost.h"

namespace stitch::verifier {

double gpu_bytes_of(const Signature& signature, double peak_bytes) {
  constexpr double contexts =
      3.5e9;  // of PyTorch, of two processes for candidates, and what their libraries keep
  double inputs = 0, outputs = 0, truth = 0, parameters = 0;
  for (const ManifestTensor& input : signature.inputs) inputs += static_cast<double>(input.type.bytes());
  for (const ManifestTensor& output : signature.outputs) {
    outputs += static_cast<double>(output.type.bytes());
    truth += static_cast<double>(output.type.elements()) * 8;
  }
  for (const ManifestTensor& each : signature.parameters)
    parameters += static_cast<double>(each.type.bytes());
  const double candidate = 2 * (inputs + outputs) + 3 * parameters, arena = std::max(inputs, outputs);
  const double reference = 2 * truth + inputs + parameters + 2 * peak_bytes;
  return contexts + candidate + arena + reference;
}

Result<MachineShare> take_gpu_memory(const Graph& graph, const Signature& signature, double total) {
  // At most sixteen at once: more of them only take turns on the GPU's clock.
  constexpr int parts = 32, least = 2;
  const double bytes = gpu_bytes_of(signature, static_cast<double>(cost(graph).peak_bytes));
  GpuVisit::step_out();
  return MachineShare::take(
      "gpu.memory", std::clamp(static_cast<int>(std::ceil(parts * bytes / total)), least, parts), parts);
}

}  // namespace stitch::verifier
