#include "learn/coder/measure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "code/write_program.h"
#include "device/build.h"
#include "device/gpu_lock.h"
#include "learn/grpo/draw.h"
#include "runner/candidate.h"
#include "verify/layout.h"

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

// What can't be planned or written is the variant's fault, whoever is blamed for it elsewhere.
template <class T>
Result<T> variants_fault(Result<T> result) {
  if (result) return result;
  Error error = std::move(result).error();
  error.blame = Error::Blame::user;
  return error;
}

Result<device::Built> build_alone(const Alone& alone, const MeasureOptions& options) {
  STITCH_TRY(const PackageContents contents,
             variants_fault(code::write_program(*alone.task->context, alone.task->plan)));
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitch-learn"));
  STITCH_CHECK(write_package(scratch.path() / "program", contents));
  STITCH_TRY(const Package package, load_package(scratch.path() / "program"));
  device::BuildRequest request{.sources = package.sources,
                               .include_dirs = package.include_dirs,
                               .target = device::Target::cuda,
                               .needs = package.manifest.needs,
                               .libraries = package.libraries};
  for (const fs::path& source : package.sources)
    if (source.parent_path().filename() == "regions") request.shareable.push_back(source);
  if (!alone.task->gpu.architecture.name.empty()) request.architecture = alone.task->gpu.architecture.name;
  return device::build(request, options.on_progress);
}

// Of a region that ran alone: its kernels, copies and fills, and what each costs in a CUDA graph besides.
double device_seconds(const std::vector<runner::Activity>& activities, const GpuSpec& gpu) {
  int64_t sum = 0;
  for (const runner::Activity& each : activities) sum += each.nanoseconds();
  return static_cast<double>(sum) * 1e-9 + static_cast<double>(activities.size()) * gpu.kernel_overhead;
}

// All of them, or the error of the first that failed: the process is gone then.
Result<std::vector<double>> run_alone(const Alone& alone, const device::Built& built,
                                      const MeasureOptions& options) {
  auto failed = [](const runner::Failure& failure) {
    return user_error("program", format("{}: {}", runner::name(failure.kind), failure.message));
  };
  STITCH_TRY(runner::Arena arena, runner::Arena::create(int64_t{1} << 20));
  STITCH_TRY(
      runner::Candidate candidate,
      runner::Candidate::start({.device = runner::Device::cuda, .time_limit = options.time_limit}, arena));
  auto loaded = candidate.load(built.library);
  if (loaded.failure) return failed(*loaded.failure);
  STITCH_TRY(const Manifest manifest, parse_manifest(loaded.value.manifest));
  std::vector<runner::TensorAt> parameters;
  for (const ManifestTensor& tensor : manifest.signature.parameters) {
    STITCH_TRY(const int64_t offset, arena.allocate(tensor.type.bytes()));
    fill(arena.bytes(offset, tensor.type.bytes()), tensor.type.dtype, parameters.size());
    parameters.push_back({tensor.type, offset});
  }
  if (auto created = candidate.create(parameters); created.failure) return failed(*created.failure);
  std::vector<double> out;
  STITCH_TRY(device::GpuLock lock, device::GpuLock::take());
  for (size_t region : alone.regions) {
    const ManifestRegion& here = manifest.regions.at(region);
    std::vector<TensorType> inputs, outputs;
    for (const Slot& slot : here.reads) inputs.push_back(verifier::stored_type(slot));
    for (const Slot& slot : here.writes) outputs.push_back(verifier::stored_type(slot));
    std::vector<double> seconds;
    for (int i = 0; i <= options.repeats; ++i) {
      auto reply = candidate.profile_region(static_cast<int>(region), inputs, outputs);
      if (reply.failure) return failed(*reply.failure);
      if (i > 0) seconds.push_back(device_seconds(reply.value, alone.task->gpu));  // the first one warms up
    }
    std::ranges::sort(seconds);
    out.push_back(seconds[seconds.size() / 2]);
  }
  return out;
}

Result<void> measure_some(const RegionProblem& problem, std::span<const plan::Region> variants,
                          std::span<Timed> out, const MeasureOptions& options) {
  auto attempt = [&]() -> Result<std::vector<double>> {
    STITCH_TRY(const Alone alone, variants_fault(region_alone(problem, variants)));
    STITCH_TRY(const device::Built built, build_alone(alone, options));
    return run_alone(alone, built, options);
  };
  auto seconds = attempt();
  if (seconds) {
    for (size_t i = 0; i < out.size(); ++i)
      if ((*seconds)[i] > 0) out[i] = {Timed::Kind::timed, (*seconds)[i]};
    return {};
  }
  if (seconds.error().blame == Error::Blame::work) return seconds.error();
  if (variants.size() == 1) {
    out[0] = {Timed::Kind::failed, 0};
    return {};
  }
  const size_t half = variants.size() / 2;
  STITCH_CHECK(measure_some(problem, variants.first(half), out.first(half), options));
  return measure_some(problem, variants.subspan(half), out.subspan(half), options);
}

}  // namespace

Result<std::vector<Timed>> measure(const RegionProblem& problem, std::span<const plan::Region> variants,
                                   const MeasureOptions& options) {
  std::vector<Timed> out(variants.size());
  if (!variants.empty()) STITCH_CHECK(measure_some(problem, variants, out, options));
  return out;
}

}  // namespace stitch::learn
