#include "learn/coder/measure.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "build/build.h"
#include "code/write_program.h"
#include "gpu/gpu_lock.h"
#include "learn/draw.h"

namespace stitch::learn {

namespace {

// Numbers of the size of one that no unit is faster with; integers are zeros.
void fill(std::span<std::byte> bytes, DType dtype, uint64_t seed) {
  Draw draw(seed);
  auto write = [&](auto value_of) {
    using Value = decltype(value_of(0.0F));
    constexpr size_t drawn = 65'521;  // then the same again: a prime, so that no row is like the next
    std::vector<Value> values(std::min(drawn, bytes.size() / sizeof(Value)));
    for (Value& value : values) value = value_of(static_cast<float>(2 * draw.uniform() - 1));
    for (size_t at = 0, i = 0; at + sizeof(Value) <= bytes.size(); at += sizeof(Value), ++i)
      std::memcpy(bytes.data() + at, &values[i % values.size()], sizeof(Value));
  };
  switch (dtype) {
    case DType::f32: return write([](float x) { return x; });
    case DType::f64: return write([](float x) { return static_cast<double>(x); });
    case DType::bf16:
      return write([](float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); });
    case DType::f16:  // 0.5 to 1 of either sign
      return write([](float x) {
        const auto mantissa = static_cast<uint16_t>(std::abs(x) * 1023);
        return static_cast<uint16_t>((x < 0 ? 0x8000 : 0) | 0x3800 | mantissa);
      });
    default: std::ranges::fill(bytes, std::byte{0});
  }
}

// Among the threads of this process: the lock between processes lets all of them in together. A thread that
// waits to be alone keeps newcomers out.
class Turns {
 public:
  std::shared_lock<std::shared_mutex> beside_others() {
    const std::lock_guard hold(door_);
    return std::shared_lock(room_);
  }
  std::unique_lock<std::shared_mutex> alone() {
    const std::lock_guard hold(door_);
    return std::unique_lock(room_);
  }

 private:
  std::mutex door_;
  std::shared_mutex room_;
};
Turns& turns() {
  static Turns one;
  return one;
}

// A variant that can't be planned or written counts as failed, whatever the cause.
template <class T>
Result<T> variants_fault(Result<T> result) {
  if (result) return result;
  Error error = std::move(result).error();
  error.blame = Error::Blame::user;
  return error;
}

Result<build::Built> build_alone(const Alone& alone, const PackageContents& contents,
                                 const MeasureOptions& options) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitch-learn"));
  STITCH_CHECK(write_package(scratch.path() / "program", contents));
  STITCH_TRY(const Package package, load_package(scratch.path() / "program"));
  const bool cuda = options.device == runner::Device::cuda;
  build::BuildRequest request{.sources = package.sources,
                              .units = 1,
                              .include_dirs = package.include_dirs,
                              .target = cuda ? build::Target::cuda : build::Target::emulated,
                              .needs = package.manifest.needs,
                              .libraries = package.libraries,
                              .optimise = false};
  for (const fs::path& source : package.sources)
    if (source.parent_path().filename() == "regions") request.shareable.push_back(source);
  if (!alone.task->gpu.architecture.name.empty()) request.architecture = alone.task->gpu.architecture.name;
  return build::build(request, options.on_progress);
}

// The median of the runs: kernels, copies and fills, and what each costs in a CUDA graph besides. Without a
// profiler the events' time, which has the gaps between kernels in it.
double device_seconds(const std::vector<runner::RegionRun>& runs, const GpuSpec& gpu) {
  std::vector<double> seconds;
  for (const runner::RegionRun& run : runs)
    seconds.push_back(run.device_ns > 0 ? static_cast<double>(run.device_ns) * 1e-9 +
                                              static_cast<double>(run.activities) * gpu.kernel_overhead
                                        : static_cast<double>(run.event_ns) * 1e-9);
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

// Whether the profiler can be used here is seen the first time: walls may end a process for it, or it itself.
enum class Profiler : uint8_t { untried, works, avoided };
std::atomic<Profiler> profiler = Profiler::untried;

std::string words(const runner::Failure& failure) {
  return format("{}: {}", runner::name(failure.kind), failure.message);
}

// A program with several variants of a region, in processes one after the other: a variant that crashes takes
// its process along, and the next one continues after it.
class AloneRun {
 public:
  AloneRun(const Alone& alone, const build::Built& built, const MeasureOptions& options)
      : alone_(alone), built_(built), options_(options) {}

  // An error: the program as a whole can't be used.
  Result<void> time_all(std::span<Timed> out, std::string& trouble) {
    constexpr int most_processes = 5;
    for (int process = 0; next_ < out.size() && process < most_processes; ++process) {
      const size_t before = next_;
      auto timed = time_some(out, trouble);
      if (!timed && before == 0) return timed;
      if (!timed) break;  // it was created before: what is left stays unknown
    }
    return {};
  }

 private:
  Result<void> time_some(std::span<Timed> out, std::string& trouble) {
    auto beside_others = turns().beside_others();
    STITCH_TRY(runner::Arena arena, runner::Arena::create(int64_t{1} << 20));
    // Programs of our own: CUDA starts once a thread.
    STITCH_TRY(runner::Candidate candidate,
               runner::Candidate::start({.device = options_.device,
                                         .time_limit = options_.time_limit,
                                         .load_time_limit = std::chrono::minutes(1),
                                         .shared_process = !alone_now_},
                                        arena));
    Result<void> timed = time_in(candidate, arena, beside_others, out, trouble);
    // Whether this program is at fault, or one before it in the same process, another process tells.
    const bool broke = std::exchange(broke_, false);
    if ((!timed || broke) && candidate.held_others()) {
      alone_now_ = true;
      if (broke) out[--next_] = Timed();
      timed = Result<void>();
    }
    // Its process is made ready for the next program, which takes the GPU for a moment.
    if (!beside_others.owns_lock()) beside_others = turns().beside_others();
    const runner::Candidate ends_first = std::move(candidate);
    return timed;
  }

  Result<void> time_in(runner::Candidate& candidate, runner::Arena& arena,
                       std::shared_lock<std::shared_mutex>& beside_others, std::span<Timed> out,
                       std::string& trouble) {
    auto loaded = candidate.load(built_.library);
    if (loaded.failure) return user_error("program", words(*loaded.failure));
    STITCH_TRY(const Manifest manifest, parse_manifest(loaded.value.manifest));
    std::vector<runner::TensorAt> parameters;
    for (const ManifestTensor& tensor : manifest.signature.parameters) {
      STITCH_TRY(const int64_t offset, arena.allocate(tensor.type.bytes()));
      fill(arena.bytes(offset, tensor.type.bytes()), tensor.type.dtype, parameters.size());
      parameters.push_back({tensor.type, offset});
    }
    if (auto created = candidate.create(parameters); created.failure)
      return user_error("program", words(*created.failure));
    beside_others.unlock();

    const auto alone_here = turns().alone();
    std::optional<GpuLock> lock;
    if (options_.device == runner::Device::cuda) {
      STITCH_TRY(GpuLock taken, GpuLock::take());
      lock.emplace(std::move(taken));
    }
    const size_t first = next_;
    while (next_ < out.size()) {
      auto reply = runs_of(candidate, manifest, next_, options_.repeats);
      if (reply.failure && reply.failure->kind != runner::FailureKind::refused &&
          profiler == Profiler::untried) {
        profiler = Profiler::avoided;
        trouble = words(*reply.failure);
        return {};
      }
      Timed& timed = out[next_++];
      if (!reply.failure) {
        if (reply.value[0].device_ns > 0) profiler = Profiler::works;
        const double seconds = device_seconds(reply.value, alone_.task->gpu);
        if (seconds > 0) timed = {Timed::Kind::timed, seconds, reply.value[0].device_ns == 0};
        continue;
      }
      trouble = words(*reply.failure);
      timed = {Timed::Kind::failed, 0};
      broke_ = reply.failure->kind != runner::FailureKind::refused;
      if (broke_) return {};
    }
    look_again(candidate, manifest, out.subspan(first), first);
    return {};
  }

  runner::Reply<std::vector<runner::RegionRun>> runs_of(runner::Candidate& candidate,
                                                        const Manifest& manifest, size_t variant,
                                                        int repeats) {
    const size_t region = alone_.regions[variant];
    const ManifestRegion& here = manifest.regions.at(region);
    std::vector<TensorType> inputs, outputs;
    for (const Slot& slot : here.reads) inputs.push_back(slot.stored());
    for (const Slot& slot : here.writes) outputs.push_back(slot.stored());
    const auto flush = static_cast<int64_t>(2 * alone_.task->gpu.l2) / 256 * 256;
    return candidate.time_region(static_cast<int>(region), inputs, outputs,
                                 {repeats, flush, profiler != Profiler::avoided});
  }

  // The first of a program finds the GPU's clock low: on an H200 the built-in choice took 1.1 % longer than
  // the very same choice further behind (twelve regions). What is near the best is timed again, last first,
  // with more runs: choices are made between these.
  void look_again(runner::Candidate& candidate, const Manifest& manifest, std::span<Timed> out,
                  size_t first) {
    constexpr double near_the_best = 1.15;
    constexpr int times_the_repeats = 3;
    double best = std::numeric_limits<double>::infinity();
    for (const Timed& each : out)
      if (each.kind == Timed::Kind::timed) best = std::min(best, each.seconds);
    for (size_t i = out.size(); i-- > 0;) {
      if (out[i].kind != Timed::Kind::timed || out[i].seconds > near_the_best * best) continue;
      auto reply = runs_of(candidate, manifest, first + i, times_the_repeats * options_.repeats);
      if (reply.failure) return;  // it was timed before
      if (const double seconds = device_seconds(reply.value, alone_.task->gpu); seconds > 0)
        out[i].seconds = seconds;
    }
  }

  const Alone& alone_;
  const build::Built& built_;
  const MeasureOptions& options_;
  size_t next_ = 0;
  bool alone_now_ = false;  // in processes that held no other variant
  bool broke_ = false;      // the last variant took its process along
};

class Measurement {
 public:
  Measurement(const RegionProblem& problem, const MeasureOptions& options)
      : problem_(problem), options_(options) {}

  Result<void> measure_all(std::span<const plan::Region> variants, std::span<Timed> out) {
    auto measured = measure_together(variants, out);
    if (measured) return {};
    Error error = std::move(measured).error();
    trouble = error.message;
    if (error.blame == Error::Blame::work) return error;
    if (variants.size() == 1) {
      out[0] = {Timed::Kind::failed, 0};
      return {};
    }
    if (!looked_) return measure_those_that_can_be_written(variants, out);
    return measure_halves(variants, out);
  }

  std::string trouble;

 private:
  Result<void> measure_together(std::span<const plan::Region> variants, std::span<Timed> out) {
    STITCH_TRY(const Alone alone, variants_fault(region_alone(problem_, variants)));
    STITCH_TRY(const PackageContents contents,
               variants_fault(code::write_program(*alone.task->context, alone.task->plan)));
    STITCH_TRY(const build::Built built, build_alone(alone, contents, options_));
    return AloneRun(alone, built, options_).time_all(out, trouble);
  }

  Result<void> measure_halves(std::span<const plan::Region> variants, std::span<Timed> out) {
    const size_t half = variants.size() / 2;
    STITCH_CHECK(measure_all(variants.first(half), out.first(half)));
    return measure_all(variants.subspan(half), out.subspan(half));
  }

  // Most of what fails is found without a compiler, one by one.
  Result<void> measure_those_that_can_be_written(std::span<const plan::Region> variants,
                                                 std::span<Timed> out) {
    looked_ = true;
    std::vector<plan::Region> good;
    std::vector<size_t> places;
    for (size_t i = 0; i < variants.size(); ++i) {
      auto alone = region_alone(problem_, variants.subspan(i, 1));
      if (alone && code::write_program(*alone->task->context, alone->task->plan)) {
        good.push_back(variants[i]);
        places.push_back(i);
      } else {
        out[i] = {Timed::Kind::failed, 0};
      }
    }
    if (good.empty()) return {};
    if (good.size() == variants.size()) return measure_halves(variants, out);
    std::vector<Timed> timed(good.size());
    STITCH_CHECK(measure_all(good, timed));
    for (size_t i = 0; i < good.size(); ++i) out[places[i]] = timed[i];
    return {};
  }

  const RegionProblem& problem_;
  const MeasureOptions& options_;
  bool looked_ = false;
};

}  // namespace

Result<Measured> measure(const RegionProblem& problem, std::span<const plan::Region> variants,
                         const MeasureOptions& options) {
  Measured out{.timed = std::vector<Timed>(variants.size()), .trouble = {}};
  if (variants.empty()) return out;
  Measurement measurement(problem, options);
  STITCH_CHECK(measurement.measure_all(variants, out.timed));
  out.trouble = std::move(measurement.trouble);
  return out;
}

}  // namespace stitch::learn
