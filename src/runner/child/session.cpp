#include "runner/child/session.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "runner/child/session_parts.h"
#include "runner/wire.h"
#include "sandbox/sandbox.h"

namespace stitch::runner {

namespace {

int thread_count() {
  std::error_code ignored;
  int count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/task", ignored)) ++count;
  return count;
}

}  // namespace

Json Session::answer(const Json& request) {
  try {
    return dispatch(request);
  } catch (const Refusal& refusal) {
    return {{"refused", refusal.status}, {"message", refusal.message}};
  } catch (const Fault& fault) {
    return {{"fault", fault.message}};
  } catch (const std::bad_alloc&) {
    return {{"refused", STITCH_OUT_OF_MEMORY}, {"message", "no memory is left in the process"}};
  } catch (const std::exception& error) {
    return {{"fault", format("an exception left the program or the runner: {}", error.what())}};
  }
}

Json Session::dispatch(const Json& request) {
  const std::string what = request.at("do").get<std::string>();
  if (what == "hello") return hello(request);
  if (!backend_) throw Refusal{STITCH_BAD_ARGUMENT, "hello comes first"};
  if (what == "share") return share(request);
  if (what == "unshare") return unshare();
  if (what == "load") return load(request);
  if (what == "place") return place(request);
  if (what == "drop") return drop(request);
  if (what == "fetch_outputs") return fetch_outputs(request);
  if (what == "fetch_input") return fetch_input(request);
  if (what == "prepare_series") return prepare_series(request);
  if (what == "series") return series(request);
  if (what == "can_profile") return can_profile();
  if (!library_) throw Refusal{STITCH_BAD_ARGUMENT, "no program is loaded"};
  if (what == "create") return create(request);
  if (what == "destroy") return destroy();
  if (!program_) throw Refusal{STITCH_BAD_ARGUMENT, "the program was not created"};
  if (what == "time_region") return time_region(request);
  if (what == "call") return call(request);
  if (what == "profile") return profile(request);
  if (what == "profile_region") return profile_region(request);
  if (what == "count") return count(request);
  if (what == "call_with") return call_with(request);
  throw Refusal{STITCH_BAD_ARGUMENT, format("'{}' is no request", what)};
}

Json Session::hello(const Json& request) {
  auto backend = request.at("device") == "cuda" ? start_cuda()
                                                : start_emulated(request.at("runtime").get<std::string>(),
                                                                 request.at("order").get<std::string>());
  if (!backend) throw Refusal{STITCH_UNSUPPORTED, backend.error().text()};
  backend_ = *std::move(backend);
  process_secret();
  // A profiler in this process needs what the seal refuses; whoever asks for one trusts the program.
  if (!request.value("profiler", false)) sandbox::seal_process();
  Json out = yes();
  out["protocol"] = protocol_version;
  out["device"] = backend_->device_name();
  return out;
}

Json Session::share(const Json& request) {
  unshare();
  const Descriptor descriptor = std::move(given_);
  if (descriptor.get() < 0) throw Refusal{STITCH_BAD_ARGUMENT, "no descriptor came with the request"};
  const int64_t bytes = request.at("bytes").get<int64_t>();
  auto address = backend_->share(descriptor.get(), bytes);
  if (!address) throw Refusal{STITCH_UNSUPPORTED, address.error().text()};
  shared_ = *address;
  shared_bytes_ = bytes;
  return yes();
}

Json Session::unshare() {
  sound(backend_->synchronise());
  if (shared_) backend_->unshare(shared_, shared_bytes_);
  shared_ = 0;
  shared_bytes_ = 0;
  return yes();
}

Address Session::shared(int64_t offset, int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset + bytes > shared_bytes_)
    throw Refusal{STITCH_BAD_ARGUMENT, "a place outside the device arena"};
  return shared_ + static_cast<Address>(offset);
}

// Copies on the device run on; whoever shares its memory looks as soon as the answer is there.
void Session::fetch(const Place& to, Address from, int64_t bytes) {
  if (to.where == Where::host) return sound(backend_->download(arena_.bytes(to.offset, bytes), from));
  sound(backend_->copy(shared(to.offset, bytes), from, bytes));
  sound(backend_->synchronise());
}

Json Session::load(const Json& request) {
  if (library_) throw Refusal{STITCH_BAD_ARGUMENT, "a process holds one program"};
  auto library = LoadedProgram::open(request.at("program").get<std::string>());
  if (!library) throw Refusal{STITCH_BAD_ARGUMENT, library.error().message};
  library_ = *library;
  Json out = yes();
  out["manifest"] = library_->manifest_text();
  out["has_regions"] = library_->run_region != nullptr;
  out["libraries"] = library_->libraries;
  return out;
}

Session::Buffers Session::upload(const Json& tensors, std::string_view role, Fence fence) {
  Buffers out;
  for (const Json& json : tensors) {
    const TensorAt tensor = tensor_from_wire(json);
    auto buffer = GuardedBuffer::create_fenced(*backend_, tensor.type, fence, 0);
    if (!buffer)
      throw Refusal{STITCH_OUT_OF_MEMORY, format("{} {}: {}", role, out.size(), buffer.error().text())};
    if (tensor.offset >= 0) fill(*buffer, tensor);  // else zeros, as it was made
    out.push_back(*std::move(buffer));
  }
  sound(backend_->synchronise());  // before anybody changes the device arena
  return out;
}

void Session::fill(GuardedBuffer& buffer, const TensorAt& from) {
  const int64_t bytes = from.type.bytes();
  if (from.where == Where::device)
    sound(backend_->copy(buffer.address(), shared(from.offset, bytes), bytes));
  else
    sound(backend_->upload(buffer.address(), arena_.bytes(from.offset, bytes)));
}

GuardedBuffer Session::buffer_at(const TensorType& type, const Placement& placement, size_t tensor,
                                 uint32_t word) {
  auto buffer = placement.fence == Fence::none
                    ? GuardedBuffer::create(*backend_, type, placement.of(tensor), word)
                    : GuardedBuffer::create_fenced(*backend_, type, placement.fence, word);
  if (!buffer) throw Refusal{STITCH_OUT_OF_MEMORY, format("tensor {}: {}", tensor, buffer.error().text())};
  return *std::move(buffer);
}

Session::Buffers Session::fresh_outputs(const Json& types, uint64_t poison, const Placement& placement,
                                        size_t inputs, Filling filling) {
  Buffers out;
  for (const Json& json : types) {
    const TensorType type = type_from_wire(json);
    out.push_back(buffer_at(type, placement, inputs + out.size(),
                            poison_word(type.dtype, poison + out.size(), filling)));
  }
  return out;
}

void Session::leave_old_results(Buffers& outputs) {
  for (size_t i = 0; i < std::min(outputs.size(), outputs_.size()); ++i)
    if (outputs[i].type().bytes() == outputs_[i].type().bytes())
      sound(backend_->copy(outputs[i].address(), outputs_[i].address(), outputs[i].type().bytes()));
}

Session::Buffers Session::zeros(const Json& types) {
  Buffers out;
  for (const Json& type : types) {
    auto buffer = GuardedBuffer::create(*backend_, type_from_wire(type), 0, 0);
    if (!buffer)
      throw Refusal{STITCH_OUT_OF_MEMORY, format("input {}: {}", out.size(), buffer.error().text())};
    out.push_back(*std::move(buffer));
  }
  return out;
}

Session::Buffers& Session::set(const Json& request) {
  auto found = sets_.find(request.at("set").get<int>());
  if (found == sets_.end()) throw Refusal{STITCH_BAD_ARGUMENT, "there is no such set of inputs"};
  return found->second;
}

Json Session::create(const Json& request) {
  destroy();
  choose(request.value("settings", Json::object()));
  backend_->poison_free_memory(poison_word(DType::f32, process_secret()));
  Buffers parameters =
      upload(request.at("parameters"), "parameter", fence_from_wire(request.value("fence", Json("none"))));
  sound(backend_->synchronise());
  std::vector<StitchTensor> arguments = as_arguments(parameters);
  const int64_t bytes_before = backend_->bytes_in_use(), start = now_ns();
  const int status = library_->create(arguments.data(), static_cast<int>(arguments.size()), 0, &program_);
  if (status != STITCH_OK) {
    program_ = nullptr;
    const std::string message = library_->error_text();
    // As of a call: what it calls an error may have broken the device.
    if (auto alive = backend_->synchronise(); !alive) throw Fault{alive.error().text()};
    throw Refusal{status, message};
  }
  sound(backend_->synchronise());
  const int64_t end = now_ns(), bytes_after = backend_->bytes_in_use();
  if (!program_) throw Refusal{STITCH_BAD_ARGUMENT, "stitch_create said yes and gave no program"};
  if (std::string damage = damage_of(parameters, "parameter"); !damage.empty()) throw Fault{damage};
  Json out = yes();
  out["seconds"] = static_cast<double>(end - start) / 1e9;
  out["device_bytes"] = bytes_after - bytes_before;
  return out;
}

void Session::choose(const Json& settings) {
  for (const auto& [name, value] : settings.items()) {
    if (!library_->set) throw Refusal{STITCH_UNSUPPORTED, "the program does not export stitch_set"};
    const int status = library_->set(name.c_str(), value.get<int64_t>());
    if (status != STITCH_OK) throw Refusal{status, library_->error_text()};
  }
}

Json Session::destroy() {
  put_back_outputs();
  timed_outputs_.clear();
  if (program_) library_->destroy(std::exchange(program_, nullptr));
  sound(backend_->synchronise());
  return yes();
}

Json Session::place(const Json& request) {
  if (request.contains("into")) return place_into(request);
  Buffers inputs = upload(request.at("inputs"), "input");
  sets_.emplace(next_set_, std::move(inputs));
  Json out = yes();
  out["set"] = next_set_++;
  return out;
}

Json Session::place_into(const Json& request) {
  const int number = request.at("into").get<int>();
  Buffers& known = set({{"set", number}});
  const Json& inputs = request.at("inputs");
  if (inputs.size() != known.size()) throw Refusal{STITCH_BAD_ARGUMENT, "another number of inputs"};
  for (size_t i = 0; i < known.size(); ++i) {
    const TensorAt tensor = tensor_from_wire(inputs[i]);
    if (tensor.type != known[i].type()) throw Refusal{STITCH_BAD_ARGUMENT, "inputs of another type"};
    fill(known[i], tensor);
  }
  sound(backend_->synchronise());
  Json out = yes();
  out["set"] = number;
  return out;
}

Json Session::drop(const Json& request) {
  set(request);
  put_back_outputs();
  timed_outputs_.erase(request.at("set").get<int>());
  sets_.erase(request.at("set").get<int>());
  return yes();
}

void Session::run(int region, std::vector<StitchTensor>& inputs, std::vector<StitchTensor>& outputs) {
  const int in = static_cast<int>(inputs.size()), out = static_cast<int>(outputs.size());
  if (region >= 0 && !library_->run_region)
    throw Refusal{STITCH_UNSUPPORTED, "the program does not export stitch_run_region"};
  const int status =
      region >= 0
          ? library_->run_region(program_, region, inputs.data(), in, outputs.data(), out, backend_->stream())
          : library_->run(program_, inputs.data(), in, outputs.data(), out, backend_->stream());
  if (status == STITCH_OK) return;
  const std::string message = library_->error_text();
  // What the program calls a device error may have broken the device; then nothing else can be asked.
  if (auto alive = backend_->synchronise(); !alive) throw Fault{alive.error().text()};
  throw Refusal{status, message};
}

std::string Session::damage_of(const Buffers& buffers, std::string_view role) {
  std::string out;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const std::string damage = sound(buffers[i].damage());
    if (!damage.empty()) out += format("{}{} {}: {}", out.empty() ? "" : "; ", role, i, damage);
  }
  return out;
}

Session::Placement Session::placement_in(const Json& request) {
  return {request.value("misalign", 0), request.value("misaligned", -1),
          fence_from_wire(request.value("fence", Json("none")))};
}

Session::Buffers* Session::timed_outputs(const Json& request, int set) {
  int64_t bytes = 0;
  for (const Json& type : request.at("outputs")) bytes += type_from_wire(type).bytes();
  constexpr int64_t most = int64_t{8} << 30;  // of the GPU's memory, which others may need
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

// A caller with work to do calls again and again; this process waited for a request. A call on another set's
// inputs puts the host back into that state, and tells the program nothing about the call that counts.
void Session::warm_up(const Json& request) {
  auto other = sets_.upper_bound(request.at("set").get<int>());
  if (other == sets_.end()) other = sets_.begin();
  if (other->first == request.at("set").get<int>()) return;
  Buffers* outputs = timed_outputs(request, other->first);
  if (!outputs) return;
  std::vector<StitchTensor> in = as_arguments(other->second), out = as_arguments(*outputs);
  run(-1, in, out);
  sound(backend_->synchronise());
}

std::pair<int64_t, int64_t> Session::clock(int region, std::vector<StitchTensor>& inputs,
                                           std::vector<StitchTensor>& outputs) {
  // The first use of an event costs more than those after it.
  backend_->mark_begin();
  backend_->mark_end();
  sound(backend_->synchronise());
  const int64_t start = now_ns();
  backend_->mark_begin();
  run(region, inputs, outputs);
  backend_->mark_end();
  sound(backend_->synchronise());
  return {now_ns() - start, backend_->marked_ns()};
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
        sound(outputs_[i].poison(poison_word(outputs_[i].type().dtype, poison + i, filling)));
  } else {
    // The old outputs go only once the new ones are there: these get other addresses.
    Buffers fresh = fresh_outputs(request.at("outputs"), poison, placement, inputs.size(), filling);
    if (filling == Filling::old_result) leave_old_results(fresh);
    put_back_outputs();
    outputs_ = std::move(fresh);
  }

  std::map<size_t, GuardedBuffer> copies;  // of inputs, for this call alone
  auto copy_of = [&](size_t index) -> GuardedBuffer& {
    auto found = copies.find(index);
    if (found != copies.end()) return found->second;
    const GuardedBuffer& original = inputs.at(index);
    GuardedBuffer copy = buffer_at(original.type(), placement, index, 0);
    sound(backend_->copy(copy.address(), original.address(), original.type().bytes()));
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
  sound(backend_->synchronise());
  if (timed) {
    warm_up(request);
    sound(backend_->flush_caches(request.value("flush", int64_t{0})));
  }
  const int threads_before = thread_count();
  if (timed) {
    std::tie(wall, event) = clock(region, in, out);
  } else {
    run(region, in, out);
    sound(backend_->synchronise());
  }
  int threads_after = thread_count();
  // Threads that are joined take a moment to leave the kernel's list.
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
    if (std::string found = sound(buffer.damage()); !found.empty()) add(format("input {}: {}", index, found));
  add(backend_->damage());
  Json reply = yes();
  reply["wall_ns"] = wall;
  reply["event_ns"] = event;
  reply["damage"] = damage;
  reply["threads_before"] = threads_before;
  reply["threads_after"] = threads_after;
  reply["device_bytes"] = std::max<int64_t>(0, backend_->bytes_in_use());
  return reply;
}

Json Session::fetch_outputs(const Json& request) {
  for (const Json& piece : request.at("pieces")) {
    const GuardedBuffer& buffer = outputs_.at(piece.at("output").get<size_t>());
    Place to = place_from_wire(piece);
    for (const Json& range : piece.at("ranges")) {
      const int64_t begin = range.at(0).get<int64_t>(), end = range.at(1).get<int64_t>();
      if (begin < 0 || end < begin || end > buffer.type().bytes())
        throw Refusal{STITCH_BAD_ARGUMENT, "a range outside the output"};
      fetch(to, buffer.address() + static_cast<Address>(begin), end - begin);
      to.offset += end - begin;
    }
  }
  return yes();
}

Json Session::fetch_input(const Json& request) {
  const GuardedBuffer& buffer = set(request).at(request.at("input").get<size_t>());
  fetch(place_from_wire(request), buffer.address(), buffer.type().bytes());
  return yes();
}

Json Session::call_with(const Json& request) {
  put_back_outputs();
  // It is about the arguments, and not what is in them.
  Buffers inputs = zeros(request.at("inputs")), outputs = fresh_outputs(request.at("outputs"), 1, {}, 0);
  std::vector<StitchTensor> in = as_arguments(inputs), out = as_arguments(outputs);
  for (size_t i = 0; i < in.size(); ++i)
    if (request.at("inputs").at(i).at("offset") == -1) in[i].data = nullptr;
  const int status = library_->run(program_, in.data(), static_cast<int>(in.size()), out.data(),
                                   static_cast<int>(out.size()), backend_->stream());
  Json reply = yes();
  reply["status"] = status;
  reply["message"] = status == STITCH_OK ? "" : library_->error_text();
  sound(backend_->synchronise());
  return reply;
}

}  // namespace stitch::runner
