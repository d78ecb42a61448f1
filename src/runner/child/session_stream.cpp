// A call as one of many things that a caller gives its stream: inputs come and outputs are taken in that
// stream, while the device is busy.
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
  Buffers early;  // where the program reads: garbage until the stream brings the true inputs
  for (const GuardedBuffer& input : inputs) {
    const TensorType& type = input.type();
    // Indices have to be some that exist.
    const uint32_t word = is_floating(type.dtype) ? poison_word(type.dtype, poison + early.size()) : 0;
    early.push_back(buffer_at(type, {}, early.size(), word));
  }
  Buffers written = fresh_outputs(request.at("outputs"), poison, {}, inputs.size()),
          taken = fresh_outputs(request.at("outputs"), poison + written.size(), {}, inputs.size());
  std::vector<StitchTensor> in = as_arguments(early), out = as_arguments(written);
  sound(backend_->synchronise());

  const bool captures = in_stream == InStream::captured;
  Captured captured = Captured::complete;
  int status = STITCH_OK;
  std::string message;
  if (captures && !backend_->begin_capture()) {
    captured = Captured::broken;
  } else {
    if (!captures) sound(backend_->hold_stream());
    // In a broken capture everything fails; what it was is known at its end.
    auto in_order = [&](const GuardedBuffer& to, const GuardedBuffer& from) {
      auto copied = backend_->copy_in_order(to.address(), from.address(), to.type().bytes());
      if (!captures) sound(std::move(copied));
    };
    for (size_t i = 0; i < inputs.size(); ++i) in_order(early[i], inputs[i]);
    status = library_->run(program_, in.data(), static_cast<int>(in.size()), out.data(),
                           static_cast<int>(out.size()), backend_->stream());
    if (status != STITCH_OK) message = library_->error_text();
    for (size_t i = 0; i < written.size(); ++i) in_order(taken[i], written[i]);
    if (captures) captured = backend_->end_capture();
  }
  if (captured == Captured::complete || !captures) sound(backend_->synchronise());
  if (status != STITCH_OK && !captures) throw Refusal{status, message};
  if (status != STITCH_OK) captured = Captured::broken;
  if (captured == Captured::broken) static_cast<void>(backend_->synchronise());

  std::string damage = damage_of(written, "output");
  outputs_ = std::move(taken);
  Json reply = yes();
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
