// Back-to-back calls with inputs and outputs in an arena. The program sees a few reused addresses, as from an
// allocator: new addresses would cost a program with a CUDA graph more than in real use.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/child/session.h"
#include "runner/child/session_parts.h"
#include "runner/wire.h"

namespace stitch::runner {

namespace {

template <class Move>
void each_tensor(const std::vector<int64_t>& places, size_t count, int64_t base, Move&& move) {
  for (size_t i = 0; i < std::min(places.size(), count); ++i)
    if (places[i] >= 0) move(i, base + places[i]);
}

}  // namespace

Json Session::prepare_series(const Json& request) {
  series_.emplace();
  put_back_outputs();
  timed_outputs_.clear();
  for (int set = 0; set < std::max(1, request.at("sets").get<int>()); ++set) {
    series_->inputs.push_back(upload(request.at("inputs"), "input"));
    series_->outputs.push_back(fresh_outputs(request.at("outputs"), static_cast<uint64_t>(set), {}, 0));
  }
  value_or_fault(backend_->synchronise());
  return ok_answer();
}

void Session::fetch_slot(const Slots& slots, int64_t call, Buffers& inputs) {
  each_tensor(slots.inputs, inputs.size(), slots.inputs_at + call * slots.inputs_step,
              [&](size_t i, int64_t from) {
                const int64_t bytes = inputs[i].type().bytes();
                if (slots.where == Where::device)
                  value_or_fault(backend_->copy_in_order(inputs[i].address(), shared(from, bytes), bytes));
                else
                  value_or_fault(backend_->upload(inputs[i].address(), arena_.bytes(from, bytes)));
              });
  // Host copies are not ordered with the stream.
  if (slots.where == Where::host) value_or_fault(backend_->synchronise());
}

void Session::leave_inputs(const Slots& slots, int64_t call, const Buffers& inputs) {
  each_tensor(slots.inputs, inputs.size(), slots.inputs_at + call * slots.inputs_step,
              [&](size_t i, int64_t to) {
                const int64_t bytes = inputs[i].type().bytes();
                if (slots.where == Where::device)
                  value_or_fault(backend_->copy_in_order(shared(to, bytes), inputs[i].address(), bytes));
                else
                  value_or_fault(backend_->download(arena_.bytes(to, bytes), inputs[i].address()));
              });
}

void Session::leave_outputs(const Slots& slots, int64_t call, const Buffers& outputs) {
  if (slots.where == Where::host) value_or_fault(backend_->synchronise());
  each_tensor(slots.outputs, outputs.size(), slots.outputs_at + call * slots.outputs_step,
              [&](size_t i, int64_t to) {
                const int64_t bytes = outputs[i].type().bytes();
                if (slots.where == Where::device)
                  value_or_fault(backend_->copy_in_order(shared(to, bytes), outputs[i].address(), bytes));
                else
                  value_or_fault(backend_->download(arena_.bytes(to, bytes), outputs[i].address()));
              });
}

// One call on a cold cache, after a call on another set that warms the host up.
void Session::time_in_series(const Json& request, size_t call, Json& reply) {
  const size_t sets = series_->inputs.size(), set = call % sets, other = (set + 1) % sets;
  Buffers &inputs = series_->inputs[set], &outputs = series_->outputs[set];
  const uint64_t poison = request.at("poison").get<uint64_t>() + call;
  const Filling filling = filling_from_wire(request.at("fillings").at(call));
  backend_->poison_fresh_memory(poison);
  for (size_t i = 0; i < outputs.size() && filling != Filling::old_result; ++i)
    value_or_fault(outputs[i].poison(poison_word(outputs[i].type().dtype, poison + i, filling)));
  value_or_fault(backend_->synchronise());
  if (other != set) {
    std::vector<StitchTensor> in = as_arguments(series_->inputs[other]),
                              out = as_arguments(series_->outputs[other]);
    run(-1, in, out);
    value_or_fault(backend_->synchronise());
  }
  value_or_fault(backend_->flush_caches(request.at("flush").get<int64_t>()));
  std::vector<StitchTensor> in = as_arguments(inputs), out = as_arguments(outputs);
  const auto [wall, event] = clock(-1, in, out);
  reply["wall_ns"].push_back(wall);
  reply["event_ns"].push_back(event);
  const std::string damage = damage_of(outputs, "output") + damage_of(inputs, "input");
  if (!damage.empty()) reply["damage"] = damage;
}

Json Session::series(const Json& request) {
  if (!series_) throw Refusal{STITCH_BAD_ARGUMENT, "prepare_series comes first"};
  const bool runs = request.at("run").get<bool>(), timed = request.at("timed").get<bool>();
  if (runs && !program_) throw Refusal{STITCH_BAD_ARGUMENT, "the program was not created"};
  const Slots slots = slots_from_wire(request.at("slots"));
  const int64_t count = request.at("count").get<int64_t>();
  const size_t sets = series_->inputs.size();
  std::vector<std::vector<StitchTensor>> in, out;
  for (size_t set = 0; set < sets; ++set) {
    in.push_back(as_arguments(series_->inputs[set]));
    out.push_back(as_arguments(series_->outputs[set]));
  }
  Json reply = ok_answer();
  reply.update(Json{{"wall_ns", Json::array()}, {"event_ns", Json::array()}, {"damage", ""}});
  for (int64_t call = 0; call < count; ++call) {
    const size_t set = static_cast<size_t>(call) % sets;
    fetch_slot(slots, call, series_->inputs[set]);
    if (timed)
      time_in_series(request, static_cast<size_t>(call), reply);
    else if (runs)
      run(-1, in[set], out[set]);
    leave_outputs(slots, call, series_->outputs[set]);
    if (timed) leave_inputs(slots, call, series_->inputs[set]);
  }
  value_or_fault(backend_->synchronise());
  return reply;
}

// A call in the middle of a caller's stream: inputs are written and outputs copied in that stream while the
// device is busy.

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
