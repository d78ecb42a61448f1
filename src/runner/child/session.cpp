#include "runner/child/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "runner/child/session_parts.h"
#include "runner/wire.h"
#include "sandbox/sandbox.h"

namespace stitch::runner {

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
  if (what == "arena") return take_arena();
  if (!backend_) throw Refusal{STITCH_BAD_ARGUMENT, "hello comes first"};
  if (what == "share") return share(request);
  if (what == "unshare") return unshare();
  if (what == "load") return load(request);
  if (what == "unload") return unload();
  if (what == "place") return place(request);
  if (what == "drop") return drop(request);
  if (what == "fetch_outputs") return fetch_outputs(request);
  if (what == "fetch_input") return fetch_input(request);
  if (what == "prepare_series") return prepare_series(request);
  if (what == "series") return series(request);
  if (what == "can_profile") return can_profile();
  if (!library_) throw Refusal{STITCH_BAD_ARGUMENT, "no program is loaded"};
  if (what == "create") return create(request);
  if (what == "create_other") return create_other(request);
  if (what == "destroy_other") return destroy_other();
  if (what == "destroy") return destroy();
  if (!program_) throw Refusal{STITCH_BAD_ARGUMENT, "the program was not created"};
  if (what == "time_region") return time_region(request);
  if (what == "call") return call(request);
  if (what == "profile") return profile(request);
  if (what == "profile_region") return profile_region(request);
  if (what == "count") return count(request);
  if (what == "call_with") return call_with(request);
  if (what == "create_with") return create_with(request);
  throw Refusal{STITCH_BAD_ARGUMENT, format("'{}' is no request", what)};
}

Json Session::hello(const Json& request) {
  auto backend = request.at("device") == "cuda" ? start_cuda()
                                                : start_emulated(request.at("runtime").get<std::string>(),
                                                                 request.at("order").get<std::string>());
  if (!backend) throw Refusal{STITCH_UNSUPPORTED, backend.error().text()};
  backend_ = *std::move(backend);
  process_secret();
  // A profiler in this process needs calls that the seal refuses; it is only used on trusted programs.
  if (!request.value("profiler", false)) sandbox::seal_process();
  Json out = ok_answer();
  out["protocol"] = protocol_version;
  out["device"] = backend_->device_name();
  return out;
}

Json Session::take_arena() {
  const Descriptor descriptor = std::move(given_);
  if (library_) throw Refusal{STITCH_BAD_ARGUMENT, "the arena comes before the program"};
  if (descriptor.get() < 0 || !arena_.replace(descriptor.get()))
    throw Refusal{STITCH_BAD_ARGUMENT, "no descriptor came with the request"};
  return ok_answer();
}

Json Session::load(const Json& request) {
  if (library_) throw Refusal{STITCH_BAD_ARGUMENT, "a process holds one program"};
  auto library = LoadedProgram::open(request.at("program").get<std::string>());
  if (!library) throw Refusal{STITCH_BAD_ARGUMENT, library.error().message};
  library_ = *library;
  Json out = ok_answer();
  out["manifest"] = library_->manifest_text();
  out["has_regions"] = library_->run_region != nullptr;
  out["libraries"] = library_->libraries;
  return out;
}

// The library stays mapped: the CUDA runtime in it doesn't survive dlclose.
Json Session::unload() {
  destroy();
  outputs_.clear();
  sets_.clear();
  next_set_ = 0;
  series_.reset();
  unshare();
  library_.reset();
  return ok_answer();
}

Json Session::create(const Json& request) {
  destroy();
  return make(request, program_);
}

// A second program of the same library, alive beside the one that is called.
Json Session::create_other(const Json& request) {
  destroy_other();
  return make(request, other_program_);
}

Json Session::destroy_other() {
  if (other_program_) library_->destroy(std::exchange(other_program_, nullptr));
  value_or_fault(backend_->synchronise());
  Json out = ok_answer();
  out["device_bytes"] = backend_->bytes_in_use();
  return out;
}

Json Session::make(const Json& request, StitchProgram*& program) {
  choose(request.value("settings", Json::object()));
  backend_->poison_free_memory(poison_word(DType::f32, process_secret()));
  Buffers parameters =
      upload(request.at("parameters"), "parameter", fence_from_wire(request.value("fence", Json("none"))));
  value_or_fault(backend_->synchronise());
  std::vector<StitchTensor> arguments = as_arguments(parameters);
  const int64_t bytes_before = backend_->bytes_in_use(), start = now_ns();
  const int status = library_->create(arguments.data(), static_cast<int>(arguments.size()), 0, &program);
  if (status != STITCH_OK) {
    program = nullptr;
    const std::string message = library_->error_text();
    // As after a call: the error may have left the device unusable.
    if (auto alive = backend_->synchronise(); !alive) throw Fault{alive.error().text()};
    throw Refusal{status, message};
  }
  value_or_fault(backend_->synchronise());
  const int64_t end = now_ns(), bytes_after = backend_->bytes_in_use();
  if (!program) throw Refusal{STITCH_BAD_ARGUMENT, "stitch_create succeeded and returned no program"};
  if (std::string damage = damage_of(parameters, "parameter"); !damage.empty()) throw Fault{damage};
  Json out = ok_answer();
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
  destroy_other();
  if (program_) library_->destroy(std::exchange(program_, nullptr));
  value_or_fault(backend_->synchronise());
  return ok_answer();
}

}  // namespace stitch::runner
