// One call of the program: fresh outputs, optional timing, damage to guard zones.
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "runner/child/session.h"
#include "runner/child/session_parts.h"
#include "runner/wire.h"

namespace stitch::runner {

namespace {

int thread_count() {
  std::error_code ignored;
  int count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/task", ignored)) ++count;
  return count;
}

}  // namespace

void Session::run(int region, std::vector<StitchTensor>& inputs, std::vector<StitchTensor>& outputs) {
  const int in = static_cast<int>(inputs.size()), out = static_cast<int>(outputs.size());
  if (region >= 0 && !library_->run_region)
    throw Refusal{STITCH_UNSUPPORTED, "the program does not export stitch_run_region"};
  StitchTensor *reads = handed_inputs_.hand(inputs), *writes = handed_outputs_.hand(outputs);
  const int status = region >= 0
                         ? library_->run_region(program_, region, reads, in, writes, out, backend_->stream())
                         : library_->run(program_, reads, in, writes, out, backend_->stream());
  handed_inputs_.take_back();
  handed_outputs_.take_back();
  if (status == STITCH_OK) return;
  const std::string message = library_->error_text();
  // A device error reported by the program may have left the device unusable.
  if (auto alive = backend_->synchronise(); !alive) throw Fault{alive.error().text()};
  throw Refusal{status, message};
}

Session::Placement Session::placement_in(const Json& request) {
  return {request.value("misalign", 0), request.value("misaligned", -1),
          fence_from_wire(request.value("fence", Json("none")))};
}

Session::Buffers* Session::timed_outputs(const Json& request, int set) {
  int64_t bytes = 0;
  for (const Json& type : request.at("outputs")) bytes += type_from_wire(type).bytes();
  constexpr int64_t most = int64_t{8} << 30;  // other processes may need GPU memory
  if (bytes > most || request.value("region", -1) >= 0 || placement_in(request).is_odd()) return nullptr;
  auto found = timed_outputs_.find(set);
  if (found == timed_outputs_.end())
    found = timed_outputs_.emplace(set, fresh_outputs(request.at("outputs"), 0, {}, 0)).first;
  return &found->second;
}

void Session::put_back_outputs() {
  if (outputs_of_ >= 0) timed_outputs_[outputs_of_] = std::move(outputs_);
  outputs_of_ = -1;
  outputs_.clear();
}

// Callers call repeatedly, while this process was idle waiting for a request. A call on another set's inputs
// warms the host up and reveals nothing about the call that counts.
void Session::warm_up(const Json& request) {
  auto other = sets_.upper_bound(request.at("set").get<int>());
  if (other == sets_.end()) other = sets_.begin();
  if (other->first == request.at("set").get<int>()) return;
  Buffers* outputs = timed_outputs(request, other->first);
  if (!outputs) return;
  std::vector<StitchTensor> in = as_arguments(other->second), out = as_arguments(*outputs);
  run(-1, in, out);
  value_or_fault(backend_->synchronise());
}

std::pair<int64_t, int64_t> Session::clock(int region, std::vector<StitchTensor>& inputs,
                                           std::vector<StitchTensor>& outputs) {
  // The first use of an event costs more than those after it.
  backend_->mark_begin();
  backend_->mark_end();
  value_or_fault(backend_->synchronise());
  const int64_t start = now_ns(backend_->clock());
  backend_->mark_begin();
  run(region, inputs, outputs);
  backend_->mark_end();
  value_or_fault(backend_->synchronise());
  return {now_ns(backend_->clock()) - start, backend_->marked_ns()};
}

Json Session::call(const Json& request) {
  if (request.contains("in_stream"))
    return call_in_stream(request, in_stream_from_wire(request["in_stream"]));
  const Placement placement = placement_in(request);
  const uint64_t poison = request.value("poison", uint64_t{0});
  const bool timed = request.value("timed", false);
  const Filling filling = filling_from_wire(request.value("filling", Json("nan")));
  backend_->poison_fresh_memory(poison);
  Buffers& inputs = set(request);
  const int number = request.at("set").get<int>();
  if (Buffers* kept = timed ? (put_back_outputs(), timed_outputs(request, number)) : nullptr) {
    outputs_ = std::move(*kept);
    outputs_of_ = number;
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (filling != Filling::old_result)
        value_or_fault(outputs_[i].poison(poison_word(outputs_[i].type().dtype, poison + i, filling)));
  } else {
    // Free the old outputs only after allocating the new ones, so that addresses differ.
    Buffers fresh = fresh_outputs(request.at("outputs"), poison, placement, inputs.size(), filling);
    if (filling == Filling::old_result) leave_old_results(fresh);
    put_back_outputs();
    outputs_ = std::move(fresh);
  }

  std::map<size_t, GuardedBuffer> copies;  // of inputs, for this call only
  auto copy_of = [&](size_t index) -> GuardedBuffer& {
    auto found = copies.find(index);
    if (found != copies.end()) return found->second;
    const GuardedBuffer& original = inputs.at(index);
    GuardedBuffer copy = buffer_at(original.type(), placement, index, 0);
    value_or_fault(backend_->copy(copy.address(), original.address(), original.type().bytes()));
    return copies.emplace(index, std::move(copy)).first->second;
  };
  std::vector<StitchTensor> in = as_arguments(inputs);
  for (size_t i = 0; placement.is_odd() && i < inputs.size(); ++i) in[i] = as_argument(copy_of(i));
  for (const Json& pair : request.value("states", Json::array())) {
    const size_t input = pair.at(0).get<size_t>(), output = pair.at(1).get<size_t>();
    GuardedBuffer& copy = copy_of(input);
    in.at(input) = as_argument(copy);
    outputs_.at(output) = std::move(copy);
    copies.erase(input);
  }
  std::vector<StitchTensor> out = as_arguments(outputs_);

  const int region = request.value("region", -1);
  int64_t wall = 0, event = 0;
  value_or_fault(backend_->synchronise());
  if (timed) {
    warm_up(request);
    value_or_fault(backend_->flush_caches(request.value("flush", int64_t{0})));
  }
  const int threads_before = thread_count();
  if (timed) {
    std::tie(wall, event) = clock(region, in, out);
  } else {
    {
      const ClosedToHost closed(*backend_, placement.fence);
      auto make_read_only = [&](bool yes) {
        for (const auto& [index, buffer] : copies)
          if (placement.fence == Fence::read_only && buffer.type().bytes() > 0)
            backend_->make_read_only(buffer.address(), buffer.type().bytes(), yes);
      };
      make_read_only(true);
      run(region, in, out);
      value_or_fault(backend_->synchronise());
      make_read_only(false);
    }
  }
  int threads_after = thread_count();
  // Joined threads take a moment to leave /proc.
  for (int wait = 0; wait < 50 && threads_after > threads_before; ++wait) {
    ::usleep(1000);
    threads_after = thread_count();
  }

  std::string damage;
  auto add = [&](const std::string& found) {
    damage += damage.empty() || found.empty() ? found : "; " + found;
  };
  add(damage_of(outputs_, "output"));
  add(damage_of(inputs, "input"));
  for (const auto& [index, buffer] : copies)
    if (std::string found = value_or_fault(buffer.damage()); !found.empty())
      add(format("input {}: {}", index, found));
  add(backend_->damage());
  Json reply = ok_answer();
  reply["wall_ns"] = wall;
  reply["event_ns"] = event;
  reply["damage"] = damage;
  reply["threads_before"] = threads_before;
  reply["threads_after"] = threads_after;
  const struct mallinfo2 host = ::mallinfo2();
  reply["host_bytes"] = host.uordblks + host.hblkhd;
  reply["device_bytes"] = std::max<int64_t>(0, backend_->bytes_in_use());
  return reply;
}

namespace {

void give_as_asked(std::vector<StitchTensor>& tensors, const Json& asked) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Json& given = asked.at(i);
    if (given.at("offset") == -1) tensors[i].data = nullptr;
    const auto strides = given.value("strides", std::vector<int64_t>());
    std::ranges::copy(strides, tensors[i].strides);
  }
}

}  // namespace

// Tests the arguments, not their contents.
Json Session::call_with(const Json& request) {
  put_back_outputs();
  Buffers inputs = zeros(request.at("inputs")), outputs = fresh_outputs(request.at("outputs"), 1, {}, 0);
  std::vector<StitchTensor> in = as_arguments(inputs), out = as_arguments(outputs);
  give_as_asked(in, request.at("inputs"));
  give_as_asked(out, request.at("outputs"));
  return status_answer(library_->run(program_, in.data(), static_cast<int>(in.size()), out.data(),
                                     static_cast<int>(out.size()), backend_->stream()));
}

Json Session::create_with(const Json& request) {
  destroy_other();
  Buffers buffers = zeros(request.at("parameters"));
  std::vector<StitchTensor> parameters = as_arguments(buffers);
  give_as_asked(parameters, request.at("parameters"));
  const int status =
      library_->create(parameters.data(), static_cast<int>(parameters.size()), 0, &other_program_);
  Json reply = status_answer(status);
  if (status != STITCH_OK) other_program_ = nullptr;
  destroy_other();
  return reply;
}

Json Session::status_answer(int status) {
  Json reply = ok_answer();
  reply["status"] = status;
  reply["message"] = status == STITCH_OK ? "" : library_->error_text();
  value_or_fault(backend_->synchronise());
  return reply;
}

}  // namespace stitch::runner
