// A call in the middle of a caller's stream: inputs are written and outputs copied in that stream while the
// device is busy.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/child/session.h"
#include "runner/child/session_parts.h"
#include "runner/wire.h"

namespace stitch::runner {

Json Session::call_in_stream(const Json& request, InStream in_stream) {
  const uint64_t poison = request.value("poison", uint64_t{0});
  Buffers& inputs = set(request);
  backend_->poison_fresh_memory(poison);
  put_back_outputs();
  Buffers early;  // the program's inputs: garbage until the stream writes the true ones
  for (const GuardedBuffer& input : inputs) {
    const TensorType& type = input.type();
    // Indices must be in range.
    const uint32_t word = is_floating(type.dtype) ? poison_word(type.dtype, poison + early.size()) : 0;
    early.push_back(buffer_at(type, {}, early.size(), word));
  }
  Buffers written = fresh_outputs(request.at("outputs"), poison, {}, inputs.size()),
          taken = fresh_outputs(request.at("outputs"), poison + written.size(), {}, inputs.size());
  std::vector<StitchTensor> in = as_arguments(early);
  value_or_fault(backend_->synchronise());

  const bool beside = in_stream == InStream::beside, captures = beside || in_stream == InStream::captured;
  if (beside && !other_program_) throw Refusal{STITCH_BAD_ARGUMENT, "there is no second program"};
  // What the second one makes of its inputs must be nothing that the first one could use: they are zeros.
  Buffers others, zeros;
  if (beside) others = fresh_outputs(request.at("outputs"), poison, {}, inputs.size());
  if (beside)
    for (const GuardedBuffer& input : inputs) zeros.push_back(buffer_at(input.type(), {}, zeros.size(), 0));
  std::vector<StitchTensor> in_of_other = as_arguments(zeros);
  Captured captured = Captured::complete;
  int status = STITCH_OK;
  std::string message;
  if (captures && !backend_->begin_capture()) {
    captured = Captured::broken;
  } else {
    if (!captures) value_or_fault(backend_->hold_stream());
    // In a broken capture everything fails; end_capture reports why.
    auto in_order = [&](const GuardedBuffer& to, const GuardedBuffer& from) {
      auto copied = backend_->copy_in_order(to.address(), from.address(), to.type().bytes());
      if (!captures) value_or_fault(std::move(copied));
    };
    for (size_t i = 0; i < inputs.size(); ++i) in_order(early[i], inputs[i]);
    auto run_on = [&](StitchProgram* program, std::vector<StitchTensor>& from, std::vector<StitchTensor> to,
                      void* stream) {
      if (status == STITCH_OK)
        status = library_->run(program, from.data(), static_cast<int>(from.size()), to.data(),
                               static_cast<int>(to.size()), stream);
    };
    void* branch = beside ? backend_->fork_stream() : nullptr;
    run_on(program_, in, as_arguments(written), backend_->stream());
    if (branch) {
      run_on(other_program_, in_of_other, as_arguments(others), branch);
      backend_->join_stream();
    }
    if (status != STITCH_OK) message = library_->error_text();
    for (size_t i = 0; i < written.size(); ++i) in_order(taken[i], written[i]);
    if (captures) captured = backend_->end_capture();
  }
  if (captured == Captured::complete || !captures) value_or_fault(backend_->synchronise());
  if (status != STITCH_OK && !captures) throw Refusal{status, message};
  if (status != STITCH_OK) captured = Captured::broken;
  if (captured == Captured::broken) static_cast<void>(backend_->synchronise());

  std::string damage = damage_of(written, "output");
  outputs_ = std::move(taken);
  Json reply = ok_answer();
  reply.update(Json{{"wall_ns", 0},
                    {"event_ns", 0},
                    {"damage", damage},
                    {"threads_before", 0},
                    {"threads_after", 0},
                    {"device_bytes", 0},
                    {"captured", name(captured)}});
  return reply;
}

}  // namespace stitch::runner
