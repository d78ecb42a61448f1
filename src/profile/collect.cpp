#include "profile/collect.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "base/machine/process.h"
#include "base/text.h"
#include "build/compile_emulated/compile.h"
#include "gpu/gpu_lock.h"
#include "profile/metrics.h"
#include "profile/ncu.h"
#include "profile/regions.h"
#include "runner/start.h"
#include "runner/wire.h"

namespace stitch::profile {

namespace {

template <class T>
Result<T> done(runner::Reply<T> reply, std::string_view doing) {
  if (!reply.failure) return std::move(reply.value);
  std::string message = format("the program {} while it was {}: {}", runner::name(reply.failure->kind), doing,
                               reply.failure->message);
  return work_error("program", std::move(message), "run stitchcuda verify for details");
}

// Not zeros, which some units are faster with, and small enough that no sum overflows. As half-precision bit
// patterns where two bytes are all there is.
void draw(std::span<std::byte> all, DType dtype, uint64_t seed) {
  // The rest repeats the first megabyte or so: an odd number of elements, so that no row is like the next.
  constexpr size_t drawn = 8 * 131'071;
  const std::span<std::byte> bytes = all.first(std::min(all.size(), drawn));
  std::minstd_rand random(static_cast<unsigned>(seed + 1));
  auto fill = [&](auto value_of) {
    using Value = decltype(value_of(0.0F));
    for (size_t at = 0; at + sizeof(Value) <= bytes.size(); at += sizeof(Value)) {
      // The sum of two uniform numbers is near enough to a normal one.
      const float x = static_cast<float>(random() % 20001 + random() % 20001) * 5e-5F - 1;
      const Value value = value_of(x);
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
  };
  switch (dtype) {
    case DType::f32: fill([](float x) { return x; }); break;
    case DType::f64: fill([](float x) { return static_cast<double>(x); }); break;
    case DType::bf16:
      fill([](float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); });
      break;
    case DType::f16:  // 0.5 … 1, either sign
      fill([](float x) {
        const auto mantissa = static_cast<uint16_t>(std::abs(x) * 1023);
        return static_cast<uint16_t>((x < 0 ? 0x8000 : 0) | 0x3800 | (mantissa & 0x3ff));
      });
      break;
    default: std::ranges::fill(bytes, std::byte{0});
  }
  for (size_t at = drawn; at < all.size(); at += drawn)
    std::memcpy(all.data() + at, all.data(), std::min(drawn, all.size() - at));
}

Result<std::vector<runner::TensorAt>> in_arena(runner::Arena& arena,
                                               const std::vector<ManifestTensor>& tensors,
                                               const Safetensors* weights) {
  std::vector<runner::TensorAt> out;
  for (const ManifestTensor& tensor : tensors) {
    const int64_t bytes = tensor.type.bytes();
    STITCH_TRY(const int64_t offset, arena.allocate(bytes));
    const std::span<std::byte> place = arena.bytes(offset, bytes);
    const TensorBytes* known = weights && !tensor.data.empty() ? weights->find(tensor.data) : nullptr;
    if (known && static_cast<int64_t>(known->bytes.size()) == bytes)
      std::ranges::copy(known->bytes, place.begin());
    else
      draw(place, tensor.type.dtype, out.size());
    out.push_back({tensor.type, offset});
  }
  return out;
}

std::vector<TensorType> types_of(const std::vector<ManifestTensor>& tensors) {
  std::vector<TensorType> out;
  for (const ManifestTensor& tensor : tensors) out.push_back({tensor.type.dtype, tensor.type.shape, {}});
  return out;
}

// A process that holds the program with weights and inputs in it.
struct Ready {
  runner::Candidate candidate;
  Manifest manifest;
  std::vector<TensorType> outputs;
  int set = 0;
};

Result<Ready> start(const CollectOptions& options, const build::Built& built, runner::Arena& arena,
                    bool counters = false) {
  STITCH_TRY(runner::Candidate candidate,
             runner::Candidate::start(
                 {.device = options.device, .time_limit = options.time_limit, .profiler = counters}, arena));
  STITCH_TRY(runner::Loaded loaded, done(candidate.load(built.library), "loaded"));
  STITCH_TRY(Manifest manifest, parse_manifest(loaded.manifest));
  const int64_t mark = arena.mark();
  STITCH_TRY(auto parameters, in_arena(arena, manifest.signature.parameters, options.weights));
  STITCH_CHECK(done(candidate.create(parameters), "created"));
  arena.release_to(mark);
  STITCH_TRY(auto inputs, in_arena(arena, manifest.signature.inputs, options.weights));
  STITCH_TRY(const int set, done(candidate.place(inputs), "given its inputs"));
  arena.release_to(mark);
  std::vector<TensorType> outputs = types_of(manifest.signature.outputs);
  return Ready{std::move(candidate), std::move(manifest), std::move(outputs), set};
}

std::vector<std::string> hottest_kernels(const Timeline& timeline, int count) {
  std::vector<std::string> out;
  for (const KernelSum& sum : summarise(timeline).by_name)
    if (sum.kind == ActivityKind::kernel && std::ssize(out) < count &&
        std::ranges::find(out, sum.short_name) == out.end())
      out.push_back(sum.short_name);
  return out;
}

// The same call as a script for a process that a profiler starts: stitch-runner --script.
struct Script {
  ScratchFolder folder;
  std::vector<std::string> command;
  std::vector<fs::path> readable;
};

Result<Script> script_of(const CollectOptions& options, const Collected& collected, runner::Arena& arena) {
  STITCH_TRY(ScratchFolder folder, ScratchFolder::create("stitch-profile"));
  STITCH_TRY(fs::path runner, runner::find_runner());
  fs::path runtime;
  if (options.device == runner::Device::emulated) {
    STITCH_TRY(emulated::Installation installation, emulated::find_installation());
    runtime = installation.runtime;
  }
  const Signature& signature = collected.manifest.signature;
  STITCH_TRY(auto parameters, in_arena(arena, signature.parameters, options.weights));
  STITCH_TRY(auto inputs, in_arena(arena, signature.inputs, options.weights));
  const std::vector<TensorType> outputs = types_of(signature.outputs);
  auto wire = [](const auto& list) { return runner::to_wire(std::span(list.data(), list.size())); };
  const Json requests[] = {
      {{"do", "hello"},
       {"protocol", runner::protocol_version},
       {"device", options.device == runner::Device::cuda ? "cuda" : "emulated"},
       {"order", "forward"},
       {"runtime", runtime.string()},
       {"profiler", true}},
      {{"do", "load"}, {"program", collected.built.library.string()}},
      {{"do", "create"}, {"parameters", wire(parameters)}},
      {{"do", "place"}, {"inputs", wire(inputs)}},
      {{"do", "profile"}, {"set", 0}, {"outputs", wire(outputs)}, {"warm", true}, {"outside", true}}};
  std::string text;
  for (const Json& request : requests) text += request.dump() + "\n";
  const fs::path file = folder.path() / "requests.jsonl";
  STITCH_CHECK(write_file(file, text));
  // A copy of its own: behind the walls there is no other way to it.
  const fs::path memory = folder.path() / "arena";
  const std::span<const std::byte> used = arena.bytes(0, arena.mark());
  STITCH_CHECK(write_file(memory, {reinterpret_cast<const char*>(used.data()), used.size()}));
  std::vector<std::string> command = {runner.string(), "--script", file.string(), memory.string()};
  std::vector<fs::path> readable = {runner, collected.built.library};
  if (!runtime.empty()) readable.push_back(runtime);
  return Script{std::move(folder), std::move(command), std::move(readable)};
}

// The same call in another process with ncu around it, which replays each kernel for its passes.
Result<std::vector<KernelMetrics>> count_with_ncu(const CollectOptions& options, const Collected& collected,
                                                  runner::Arena& arena) {
  constexpr int launches_each = 4;
  NcuOptions asked{.kernels = hottest_kernels(collected.timeline, options.hottest),
                   .launches = launches_each * options.hottest,
                   .marked = true};
  const int64_t mark = arena.mark();
  STITCH_TRY(Script script, script_of(options, collected, arena));
  asked.folder = script.folder.path();
  asked.readable = script.readable;
  if (options.on_progress) options.on_progress("reading hardware counters with ncu");
  auto metrics = run_ncu(script.command, asked, 5 * options.time_limit);
  arena.release_to(mark);
  return metrics;
}

// Names of the kernels that a program's first call launches, in order: no graph was made yet, whose kernels
// CUPTI would count as one.
Result<std::vector<std::string>> launched_kernels(const CollectOptions& options, const Collected& collected,
                                                  runner::Arena& arena) {
  STITCH_TRY(Ready ready, start(options, collected.built, arena));
  STITCH_TRY(auto activities, done(ready.candidate.profile(ready.set, ready.outputs), "profiled"));
  std::ranges::stable_sort(activities, {}, &Activity::correlation);
  std::vector<std::string> out;
  for (const Activity& one : activities)
    if (one.kind == ActivityKind::kernel) out.push_back(one.name);
  return out;
}

// The first call in a process of its own, with CUPTI's range profiler in it: that replays each kernel for its
// passes, and may not be used beside CUPTI's records.
Result<std::vector<KernelMetrics>> count_with_cupti(const CollectOptions& options, const Collected& collected,
                                                    runner::Arena& arena) {
  if (options.on_progress) options.on_progress("reading hardware counters with CUPTI");
  STITCH_TRY(const std::vector<std::string> kernels, launched_kernels(options, collected, arena));
  CollectOptions slowly = options;
  slowly.time_limit = 5 * options.time_limit;
  STITCH_TRY(Ready ready, start(slowly, collected.built, arena, true));
  const std::vector<std::string> counters = counter_names();
  auto counted = ready.candidate.count(ready.set, ready.outputs, counters);
  // What CUPTI says of permissions and versions needs no words of ours.
  if (counted.failure && counted.failure->kind == runner::FailureKind::refused)
    return work_error("no_counters", counted.failure->message);
  STITCH_TRY(const std::vector<runner::Counts> launches, done(std::move(counted), "counted"));
  return metrics_of_launches(kernels, launches);
}

Result<std::vector<KernelMetrics>> count(const CollectOptions& options, const Collected& collected,
                                         runner::Arena& arena) {
  if (options.counter_tool == CounterTool::cupti) return count_with_cupti(options, collected, arena);
  auto by_ncu = count_with_ncu(options, collected, arena);
  if (by_ncu || options.counter_tool == CounterTool::ncu) return by_ncu;
  auto by_cupti = count_with_cupti(options, collected, arena);
  if (by_cupti) return by_cupti;
  return work_error("no_counters", format("{}; {}", by_ncu.error().message, by_cupti.error().message));
}

// Nsight Systems' own report of the same call; why there is none otherwise.
Result<void> record_with_nsys(const CollectOptions& options, const Collected& collected,
                              runner::Arena& arena) {
  STITCH_TRY(Script script, script_of(options, collected, arena));
  const fs::path report = script.folder.path() / "report.nsys-rep";
  STITCH_TRY(std::vector<std::string> words, nsys_words(report));
  words.insert(words.end(), script.command.begin(), script.command.end());
  if (options.on_progress) options.on_progress("recording one call with Nsight Systems");
  STITCH_TRY(Command confined, confine_tool(std::move(words), {.readable = script.readable},
                                            script.folder.path(), options.time_limit));
  STITCH_TRY(Finished finished, run(confined));
  if (finished.exit_code != 0)
    return work_error("nsys", "nsys failed: " + trim(finished.error_tail).substr(0, 300));
  std::error_code failed;
  fs::copy_file(report, options.nsys_report, fs::copy_options::overwrite_existing, failed);
  if (failed)
    return at(options.nsys_report.string(), work_error("file", "cannot write: " + failed.message()));
  return {};
}

void add_counted(Collected& collected, const std::vector<KernelMetrics>& counted) {
  for (auto& [kernel, known] : collected.metrics)
    for (const KernelMetrics& one : counted)
      if (one.kernel == kernel ||
          (short_name(one.kernel) == short_name(kernel) && !collected.metrics.contains(one.kernel))) {
        known.values.insert(one.values.begin(), one.values.end());
        known.sources.insert(known.sources.end(), one.sources.begin(), one.sources.end());
        break;
      }
}

const build::KernelResources* built_as(const build::Built& built, const std::string& kernel) {
  auto found = std::ranges::find(built.resources, kernel, &build::KernelResources::kernel);
  return found == built.resources.end() ? nullptr : &*found;
}

// What the build and the launches tell of each kernel, by its longest launch.
void add_launches(Collected& collected, const GpuSpec& gpu) {
  std::map<std::string, const Activity*> longest;
  std::map<std::string, int> launches;
  for (const Activity& one : collected.timeline.activities) {
    if (one.kind != ActivityKind::kernel) continue;
    const Activity*& known = longest[one.name];
    ++launches[one.name];
    if (!known || one.nanoseconds() > known->nanoseconds()) known = &one;
  }
  for (const auto& [kernel, launch] : longest) {
    KernelMetrics metrics = metrics_of_launch(*launch, built_as(collected.built, kernel), gpu);
    metrics.launches = launches[kernel];
    if (launch->nanoseconds() > 0 && collected.timeline.times == Times::measured)
      metrics.values[Metric::duration] = static_cast<double>(launch->nanoseconds()) * 1e-9;
    collected.metrics[kernel] = std::move(metrics);
  }
}

Result<build::Built> build_it(const CollectOptions& options, const Package& package) {
  build::BuildRequest request{
      .sources = package.sources, .include_dirs = package.include_dirs, .libraries = package.libraries};
  for (const fs::path& source : package.sources)
    if (source.parent_path().filename() == "regions") request.shareable.push_back(source);
  const bool emulated = options.device == runner::Device::emulated;
  request.target = emulated ? build::Target::emulated : build::Target::cuda;
  request.needs = package.manifest.needs;
  request.count_accesses = emulated && options.counters;
  if (!options.gpu.architecture.name.empty()) request.architecture = options.gpu.architecture.name;
  return build::build(request, options.on_progress);
}

}  // namespace

Result<CounterTool> parse_counter_tool(std::string_view name) {
  constexpr std::pair<std::string_view, CounterTool> tools[] = {
      {"any", CounterTool::any}, {"ncu", CounterTool::ncu}, {"cupti", CounterTool::cupti}};
  for (const auto& [known, tool] : tools)
    if (known == name) return tool;
  return user_error("counters", format("unknown counter tool '{}'", name), "any, ncu or cupti");
}

RegionKernels kernels_of_regions(runner::Candidate& candidate, const Manifest& manifest,
                                 std::chrono::duration<double> most) {
  constexpr int64_t most_bytes = int64_t{16} << 30;
  const auto end = std::chrono::steady_clock::now() + most;
  RegionKernels out;
  for (size_t r = 0; r < manifest.regions.size(); ++r) {
    const ManifestRegion& region = manifest.regions[r];
    out.emplace_back();
    if (region.reads.empty()) continue;
    std::vector<TensorType> inputs, outputs;
    int64_t bytes = 0;
    for (const Slot& slot : region.reads) bytes += inputs.emplace_back(slot.stored()).bytes();
    for (const Slot& slot : region.writes) bytes += outputs.emplace_back(slot.stored()).bytes();
    if (bytes > most_bytes || std::chrono::steady_clock::now() > end) return {};
    auto reply = candidate.profile_region(static_cast<int>(r), inputs, outputs);
    if (reply.failure) return {};
    for (const Activity& activity : reply.value) out.back().push_back(activity.name);
  }
  return out;
}

Result<Collected> collect(const CollectOptions& options) {
  Collected out;
  STITCH_TRY(out.package, load_package(options.program));
  STITCH_TRY(out.built, build_it(options, out.package));
  STITCH_TRY(runner::Arena arena, runner::Arena::create(int64_t{1} << 20));
  const bool cuda = options.device == runner::Device::cuda;
  {
    std::optional<GpuLock> alone;
    STITCH_TRY(Ready ready, start(options, out.built, arena));
    if (cuda) {
      if (options.on_progress) options.on_progress("waiting for the GPU");
      STITCH_TRY(GpuLock lock, GpuLock::take());
      alone.emplace(std::move(lock));
    }
    if (options.on_progress) options.on_progress("recording one call");
    STITCH_TRY(auto activities,
               done(ready.candidate.profile(ready.set, ready.outputs, {.host_calls = cuda, .warm = cuda}),
                    "profiled"));
    out.manifest = std::move(ready.manifest);
    out.timeline =
        make_timeline(Side::program, cuda ? options.gpu.name : "emulated GPU", std::move(activities));
    alone.reset();
    if (options.on_progress) options.on_progress("running each region alone");
    assign_regions(out.timeline, out.manifest,
                   kernels_of_regions(ready.candidate, out.manifest, options.time_limit));
  }
  if (!cuda) out.missing = "the emulated GPU has no hardware counters";
  add_launches(out, options.gpu);
  if (cuda && options.counters) {
    STITCH_TRY(GpuLock alone, GpuLock::take());
    auto counted = count(options, out, arena);
    if (counted)
      add_counted(out, *counted);
    else
      out.missing = counted.error().message;
  } else if (cuda) {
    out.missing = "hardware counters were not requested";
  }
  if (!options.nsys_report.empty()) {
    if (auto recorded = record_with_nsys(options, out, arena); !recorded)
      out.notes.push_back(format("no {}: {}", options.nsys_report.string(), recorded.error().message));
  }
  for (auto& [kernel, metrics] : out.metrics)
    if (!metrics.counted())
      metrics.missing = out.missing.empty() ? "not among the hottest kernels" : out.missing;
  return out;
}

}  // namespace stitch::profile
