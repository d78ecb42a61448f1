#include "runner/candidate.h"

#include <sys/random.h>

#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/json.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "gpu/gpu_lock.h"
#include "runner/process.h"
#include "runner/process_usage.h"
#include "runner/ready.h"
#include "runner/spare.h"
#include "runner/start.h"
#include "runner/wire.h"

namespace stitch::runner {

std::string_view name(FailureKind kind) {
  switch (kind) {
    case FailureKind::refused: return error_code::refused;
    case FailureKind::crashed: return error_code::crashed;
    case FailureKind::hung: return error_code::hung;
    case FailureKind::out_of_memory: return "out_of_memory";
    case FailureKind::killed: return error_code::killed;
    case FailureKind::forbidden: return "forbidden";
    case FailureKind::left_early: return "left_early";
    case FailureKind::output_limit: return "output_limit";
    case FailureKind::broken_protocol: return "broken_protocol";
  }
  return "?";
}

struct Candidate::State {
  Options options;
  Arena* arena;  // null while the process waits for a candidate
  SpareProcess at;
  std::optional<Failure> dead;
  bool held_others = false;
  int64_t shared_bytes = 0;  // host memory shared besides the arena

  // Sends the request and parses the answer with `read`; an exception from it means a malformed answer.
  template <class T, class Read>
  Reply<T> ask(Json request, Read read, int descriptor = -1);
  Reply<std::monostate> ask(Json request, int descriptor = -1) {
    return ask<std::monostate>(
        std::move(request), [](const Json&, const Answer&) { return std::monostate(); }, descriptor);
  }
  template <class T>
  Reply<T> fail(Failure failure, const std::string& doing) {
    failure.message = format("in {}: {}", doing, failure.message);
    dead = std::move(failure);
    return {dead, {}};
  }
};

namespace {

// An answer must repeat its request's token; otherwise the candidate forged it.
std::string new_token() {
  uint64_t value[2] = {};
  ssize_t count = ::getrandom(value, sizeof value, 0);
  require(count == sizeof value, "the system gives no random numbers");
  return format("{:016x}{:016x}", value[0], value[1]);
}

std::string order_text(const Options& options) {
  switch (options.order) {
    case ThreadOrder::forward: return "forward";
    case ThreadOrder::reversed: return "reverse";
    case ThreadOrder::shuffled: return format("shuffle:{}", options.order_seed);
    case ThreadOrder::lagging: return format("lag:{}", options.order_seed);
  }
  return "?";
}

// Candidates' text ends up on terminals and in reports, so its length is bounded.
std::string words(const Json& json) {
  constexpr size_t most = 16 << 10;
  std::string text = json.get<std::string>();
  if (text.size() > most) text = text.substr(0, most) + "…";
  return text;
}

}  // namespace

template <class T, class Read>
Reply<T> Candidate::State::ask(Json request, Read read, int descriptor) {
  if (dead) return {dead, {}};
  const std::string doing = request.at("do").get<std::string>(), token = new_token();
  request["token"] = token;
  at.process.set_shared_bytes((arena ? arena->size() : 0) + shared_bytes);
  std::optional<Result<GpuLock>> shared_gpu;
  // Start-up, loading and profiler start are host work that takes seconds (PyTorch's profiler: 6 s with
  // fourteen processes on an H200), so they don't hold the GPU lock that timed calls wait for.
  const bool on_gpu = doing != "hello" && doing != "arena" && doing != "load" && doing != "can_profile";
  if (options.device == Device::cuda && on_gpu) shared_gpu.emplace(GpuLock::share());
  if (!on_gpu) GpuVisit::step_out();
  const SpentOn answer_of_candidate("candidate: " + doing);
  // Not in a series, which the caller may be timing.
  if (doing != "series")
    if (auto failure = at.process.check_usage()) return fail<T>(std::move(*failure), doing);
  const bool loads = (doing == "load" || doing.starts_with("create")) && options.load_time_limit.count() > 0;
  // CUDA start-up is serialised across processes (26 s for 16 on an H200): not counted against the candidate.
  constexpr std::chrono::milliseconds for_a_start{60'000};
  const auto time_limit = doing == "hello" ? std::max(for_a_start, options.time_limit)
                          : loads          ? options.load_time_limit
                                           : options.time_limit;
  auto outcome = at.process.ask(request.dump() + "\n", time_limit, descriptor);
  if (auto* failure = std::get_if<Failure>(&outcome)) return fail<T>(std::move(*failure), doing);
  const Answer& answer = std::get<Answer>(outcome);
  auto broken = [&](std::string_view why) {
    return fail<T>(at.process.end(FailureKind::broken_protocol, format("its answer {}", why)), doing);
  };
  auto json = parse_json(answer.line);
  if (!json || !json->is_object()) return broken("is no JSON object");
  try {
    if (json->at("token").get<std::string>() != token) return broken("has another token: it was made up");
    if (auto fault = json->find("fault"); fault != json->end())
      return fail<T>(at.process.end(FailureKind::crashed, words(*fault)), doing);
    if (auto status = json->find("refused"); status != json->end())
      return {Failure{FailureKind::refused, status->template get<int>(), words(json->at("message")),
                      at.process.printed()},
              {}};
    if (!json->at("ok").get<bool>()) return broken("is neither a yes nor a no");
    return {std::nullopt, read(*json, answer)};
  } catch (const Json::exception& error) {
    return broken(format("lacks what it should have ({})", error.what()));
  }
}

Candidate::Candidate() = default;
Candidate::Candidate(Candidate&&) noexcept = default;

Candidate::~Candidate() {
  if (!state_ || state_->dead || !state_->arena || !can_be_spared(state_->options)) return;
  if (state_->ask({{"do", "unload"}}).ok()) keep_spare(state_->options, std::move(state_->at));
}

Result<Candidate> Candidate::start_empty(const Options& options) {
  Options settled = options;
  if (settled.memory_limit <= 0) settled.memory_limit = physical_memory() / 2;
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitch-candidate"));
  STITCH_TRY(Started started, start_process(settled, scratch.path()));
  Candidate candidate;
  candidate.state_.reset(
      new State{settled, nullptr, {std::move(scratch), std::move(started.process)}, std::nullopt});
  Json hello = {{"do", "hello"},
                {"protocol", protocol_version},
                {"device", settled.device == Device::cuda ? "cuda" : "emulated"},
                {"order", order_text(settled)},
                {"runtime", started.runtime.string()},
                {"address_sanitizer", settled.address_sanitizer},
                {"profiler", settled.profiler}};
  auto ready = candidate.state_->ask<int>(
      std::move(hello), [](const Json& json, const Answer&) { return json.at("protocol").get<int>(); });
  if (!ready.ok()) {
    std::string printed = trim(ready.failure->printed);
    const bool no_package = ready.failure->message.find("No module named") != std::string::npos;
    return work_error("runner",
                      format("the process that holds candidates does not start: {}{}{}",
                             ready.failure->message, printed.empty() ? "" : "\n", printed),
                      no_package
                          ? format("candidates see installed packages only: install it with {} -m pip, "
                                   "or name another Python with --python",
                                   settled.python.string())
                          : "");
  }
  if (ready.value != protocol_version)
    return work_error("runner", "the process that holds candidates is of another version",
                      "build StitchCUDA again");
  candidate.state_->at.process.exclude_inherited_memory();
  return candidate;
}

Result<Candidate> Candidate::start(const Options& options, Arena& arena) {
  while (auto spare = take_spare(options)) {
    Candidate candidate;
    candidate.state_.reset(new State{options, &arena, *std::move(spare), std::nullopt, true});
    if (candidate.state_->ask({{"do", "arena"}}, arena.descriptor()).ok()) return candidate;
  }
  GpuVisit::step_out();  // starting takes long
  std::optional<Candidate> ready = ReadyCandidates::here().take(options);
  for (;;) {
    const bool was_ready = ready.has_value();
    if (!ready) {
      STITCH_TRY(Candidate started, start_empty(options));
      ready.emplace(std::move(started));
    }
    State& state = *ready->state_;
    state.arena = &arena;
    state.options.time_limit = options.time_limit;
    state.options.load_time_limit = options.load_time_limit;
    state.options.shared_process = options.shared_process;
    auto given = state.ask({{"do", "arena"}}, arena.descriptor());
    if (given.ok()) return *std::move(ready);
    if (!was_ready)
      return work_error(
          "runner", format("the process that holds candidates does not start: {}", given.failure->message));
    ready.reset();  // it died while waiting
  }
}

Result<fs::path> Candidate::bring(const fs::path& file) {
  const fs::path copy = state_->at.scratch.path() / file.filename();
  std::error_code failed;
  fs::copy_file(file, copy, fs::copy_options::overwrite_existing, failed);
  if (failed) return at(file.string(), work_error("file", format("cannot be copied: {}", failed.message())));
  return copy;
}

Reply<Loaded> Candidate::load(const fs::path& program) {
  std::error_code failed;
  fs::path place = fs::weakly_canonical(program, failed);
  bool readable = false;
  for (const fs::path& folder : state_->options.readable) {
    const fs::path inside = place.lexically_relative(fs::weakly_canonical(folder, failed));
    readable |= !inside.empty() && *inside.begin() != "..";
  }
  if (!readable) {
    // The candidate can't see the folder the program came from. Names are unique because earlier libraries
    // stay mapped.
    const int before = state_->at.programs++;
    const fs::path copy =
        state_->at.scratch.path() /
        (before == 0 ? place.filename().string() : format("{}-{}", before, place.filename().string()));
    fs::copy_file(place, copy, fs::copy_options::overwrite_existing, failed);
    if (failed)
      return {Failure{FailureKind::refused, 0,
                      format("cannot read {}: {}", program.string(), failed.message()), ""},
              {}};
    place = copy;
  }
  return state_->ask<Loaded>(
      {{"do", "load"}, {"program", place.string()}}, [](const Json& json, const Answer&) {
        Loaded loaded{json.at("manifest").get<std::string>(), json.at("has_regions").get<bool>(), {}};
        const Json libraries = json.value("libraries", Json::object());
        for (const auto& [library, version] : libraries.items())
          loaded.libraries[library] = version.get<int64_t>();
        return loaded;
      });
}

Reply<Created> Candidate::create(std::span<const TensorAt> parameters, std::string_view extra,
                                 const Settings& settings, Fence fence) {
  Json request = {{"do", "create"}, {"parameters", to_wire(parameters)}};
  if (fence != Fence::none) request["fence"] = name(fence);
  if (!settings.empty()) request["settings"] = settings;
  if (!extra.empty()) {
    auto json = parse_json(extra);
    require(bool(json) && json->is_object(), "what is extra for a Python candidate is a JSON object");
    request["extra"] = *std::move(json);
  }
  return state_->ask<Created>(std::move(request), [](const Json& json, const Answer&) {
    return Created{json.at("seconds").get<double>(), json.at("device_bytes").get<int64_t>(),
                   json.value("weights", "loaded") == "loaded"};
  });
}

Reply<std::monostate> Candidate::create_other(std::span<const TensorAt> parameters,
                                              const Settings& settings) {
  Json request = {{"do", "create_other"}, {"parameters", to_wire(parameters)}};
  if (!settings.empty()) request["settings"] = settings;
  return state_->ask(std::move(request));
}

Reply<int64_t> Candidate::destroy_other() {
  return state_->ask<int64_t>({{"do", "destroy_other"}}, [](const Json& json, const Answer&) {
    return json.at("device_bytes").get<int64_t>();
  });
}

Reply<std::monostate> Candidate::share(const DeviceArena& arena) {
  // The emulated GPU's memory is the host's.
  state_->shared_bytes = state_->options.device == Device::emulated ? arena.size() : 0;
  return state_->ask({{"do", "share"}, {"bytes", arena.size()}}, arena.descriptor());
}

Reply<std::monostate> Candidate::unshare() {
  state_->shared_bytes = 0;
  return state_->ask({{"do", "unshare"}});
}

bool Candidate::can_share() const { return state_->options.tool.empty(); }

Reply<int> Candidate::place(std::span<const TensorAt> inputs) {
  return state_->ask<int>({{"do", "place"}, {"inputs", to_wire(inputs)}},
                          [](const Json& json, const Answer&) { return json.at("set").get<int>(); });
}

Reply<int> Candidate::place_into(int set, std::span<const TensorAt> inputs) {
  return state_->ask<int>({{"do", "place"}, {"inputs", to_wire(inputs)}, {"into", set}},
                          [](const Json& json, const Answer&) { return json.at("set").get<int>(); });
}

Reply<std::monostate> Candidate::drop(int set) { return state_->ask({{"do", "drop"}, {"set", set}}); }

Reply<Called> Candidate::call(int set, std::span<const TensorType> outputs, const CallOptions& options,
                              std::span<const std::pair<int, int>> states) {
  Json pairs = Json::array();
  if (options.states_in_place)
    for (auto [input, output] : states) pairs.push_back({input, output});
  Json request = {{"do", "call"},
                  {"set", set},
                  {"outputs", to_wire(outputs)},
                  {"region", options.region},
                  {"poison", options.poison},
                  {"filling", name(options.filling)},
                  {"states", std::move(pairs)},
                  {"timed", options.timed},
                  {"flush", options.flush_bytes},
                  {"misalign", options.misalign},
                  {"misaligned", options.misaligned},
                  {"fence", name(options.fence)}};
  if (options.in_stream != InStream::idle) request["in_stream"] = name(options.in_stream);
  return state_->ask<Called>(std::move(request), [](const Json& json, const Answer& answer) {
    Called called;
    called.wall_ns = json.at("wall_ns").get<int64_t>();
    called.event_ns = json.at("event_ns").get<int64_t>();
    called.round_trip_ns = answer.round_trip_ns;
    called.damage = words(json.at("damage"));
    called.threads_before = json.at("threads_before").get<int>();
    called.threads_after = json.at("threads_after").get<int>();
    called.device_bytes = json.at("device_bytes").get<int64_t>();
    called.host_bytes = json.value("host_bytes", int64_t{0});
    called.earlier_result = json.value("earlier_result", false);
    called.captured = captured_from_wire(json.value("captured", Json(name(Captured::complete))));
    return called;
  });
}

Reply<std::monostate> Candidate::fetch_outputs(std::span<const OutputPiece> pieces) {
  Json list = Json::array();
  for (const OutputPiece& piece : pieces) {
    Json pairs = Json::array();
    for (const Range& range : piece.ranges) pairs.push_back({range.begin, range.end});
    list.push_back({{"output", piece.output},
                    {"ranges", std::move(pairs)},
                    {"offset", piece.offset},
                    {"where", name(piece.where)}});
  }
  return state_->ask({{"do", "fetch_outputs"}, {"pieces", std::move(list)}});
}

Reply<std::monostate> Candidate::fetch_output(int output, std::span<const Range> ranges, int64_t arena_offset,
                                              Where where) {
  const OutputPiece piece{output, {ranges.begin(), ranges.end()}, arena_offset, where};
  return fetch_outputs({&piece, 1});
}

Reply<std::monostate> Candidate::fetch_input(int set, int input, int64_t arena_offset, Where where) {
  return state_->ask({{"do", "fetch_input"},
                      {"set", set},
                      {"input", input},
                      {"offset", arena_offset},
                      {"where", name(where)}});
}

Reply<std::monostate> Candidate::prepare_series(int sets, std::span<const TensorAt> inputs,
                                                std::span<const TensorType> outputs) {
  return state_->ask(
      {{"do", "prepare_series"}, {"sets", sets}, {"inputs", to_wire(inputs)}, {"outputs", to_wire(outputs)}});
}

Reply<SeriesTimes> Candidate::series(const Slots& slots, const SeriesOptions& options) {
  Json request = {{"do", "series"},
                  {"count", options.count},
                  {"run", options.run},
                  {"timed", options.timed},
                  {"flush", options.flush_bytes},
                  {"poison", options.poison},
                  {"fillings", Json::array()},
                  {"slots", to_wire(slots)}};
  for (Filling filling : options.fillings) request["fillings"].push_back(name(filling));
  return state_->ask<SeriesTimes>(std::move(request), [&](const Json& json, const Answer&) {
    SeriesTimes times{json.at("wall_ns").get<std::vector<int64_t>>(),
                      json.at("event_ns").get<std::vector<int64_t>>(), words(json.at("damage"))};
    const size_t expected = options.timed ? static_cast<size_t>(options.count) : 0;
    if (times.wall_ns.size() != expected || times.event_ns.size() != expected)
      throw Json::other_error::create(0, "as many times as calls", nullptr);
    return times;
  });
}

namespace {

std::vector<Activity> activities_of(const Json& json, const Answer&) {
  std::vector<Activity> out;
  for (const Json& item : json.at("activities")) {
    auto activity = activity_from_json(item);
    // Like nlohmann's own exceptions, so that `ask` reports a broken protocol.
    if (!activity) throw Json::other_error::create(0, activity.error().message, nullptr);
    activity->name = words(activity->name);
    out.push_back(*std::move(activity));
  }
  return out;
}

}  // namespace

Reply<std::monostate> Candidate::can_profile() { return state_->ask({{"do", "can_profile"}}); }

Reply<std::vector<Activity>> Candidate::profile(int set, std::span<const TensorType> outputs,
                                                const ProfileOptions& options) {
  Json request = {{"do", "profile"}, {"set", set}, {"outputs", to_wire(outputs)}};
  if (options.host_calls) request["host_calls"] = true;
  if (options.warm) request["warm"] = true;
  if (options.outside) request["outside"] = true;
  return state_->ask<std::vector<Activity>>(std::move(request), activities_of);
}

Reply<std::vector<Activity>> Candidate::profile_region(int region, std::span<const TensorType> inputs,
                                                       std::span<const TensorType> outputs) {
  return state_->ask<std::vector<Activity>>({{"do", "profile_region"},
                                             {"region", region},
                                             {"inputs", to_wire(inputs)},
                                             {"outputs", to_wire(outputs)}},
                                            activities_of);
}

Reply<std::vector<Counts>> Candidate::count(int set, std::span<const TensorType> outputs,
                                            std::span<const std::string> counters) {
  constexpr int most_launches = 512;
  return state_->ask<std::vector<Counts>>(
      {{"do", "count"},
       {"set", set},
       {"outputs", to_wire(outputs)},
       {"counters", std::vector<std::string>(counters.begin(), counters.end())},
       {"most", most_launches}},
      [](const Json& json, const Answer&) { return json.at("launches").get<std::vector<Counts>>(); });
}

namespace {

Json as_given(std::span<const TensorAt> tensors) {
  Json out = to_wire(tensors);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].type.strides.empty()) out[i]["strides"] = tensors[i].type.strides;
  return out;
}

int status_in(const Json& json, const Answer&) { return json.at("status").get<int>(); }

}  // namespace

Reply<int> Candidate::call_with(std::span<const TensorAt> inputs, std::span<const TensorAt> outputs) {
  return state_->ask<int>({{"do", "call_with"}, {"inputs", as_given(inputs)}, {"outputs", as_given(outputs)}},
                          status_in);
}

Reply<int> Candidate::create_with(std::span<const TensorAt> parameters) {
  return state_->ask<int>({{"do", "create_with"}, {"parameters", as_given(parameters)}}, status_in);
}

Reply<std::monostate> Candidate::destroy() { return state_->ask({{"do", "destroy"}}); }

Reply<std::vector<RegionRun>> Candidate::time_region(int region, std::span<const TensorType> inputs,
                                                     std::span<const TensorType> outputs,
                                                     const RegionClock& clock) {
  Json request = {{"do", "time_region"},         {"region", region},         {"inputs", to_wire(inputs)},
                  {"outputs", to_wire(outputs)}, {"repeats", clock.repeats}, {"flush", clock.flush_bytes},
                  {"profiler", clock.profiler}};
  return state_->ask<std::vector<RegionRun>>(std::move(request), [](const Json& json, const Answer&) {
    std::vector<RegionRun> out;
    for (const Json& run : json.at("runs"))
      out.push_back({run.at(0).get<int64_t>(), run.at(1).get<int>(), run.at(2).get<int64_t>()});
    if (out.empty()) throw Json::other_error::create(0, "a time", nullptr);
    return out;
  });
}

bool Candidate::held_others() const { return state_->held_others; }
int Candidate::process_number() const { return state_->at.process.number(); }
int64_t Candidate::cpu_time() const { return cpu_time_of(process_number()); }
std::string Candidate::printed() const { return state_->at.process.printed(); }

std::string Candidate::finish() {
  std::string printed = state_->at.process.finish(state_->options.time_limit);
  if (!state_->dead) state_->dead = Failure{FailureKind::left_early, 0, "it was asked to finish", {}};
  return printed;
}

}  // namespace stitch::runner
