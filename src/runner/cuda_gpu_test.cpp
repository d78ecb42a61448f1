// The same on a real GPU, where there is one.
#include <dlfcn.h>

#include <array>
#include <chrono>

#include "gpu/gpu_detect.h"
#include "runner/testdata/bench.h"

namespace stitch::runner {
namespace {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (auto gpus = detect_gpus(); !gpus) GTEST_SKIP() << "needs a GPU: " << gpus.error().message;
    if (auto nvcc = build::find_nvcc(); !nvcc) GTEST_SKIP() << "needs nvcc: " << nvcc.error().message;
  }
  static Bench bench() {
    Bench out = Bench::create();
    out.device = Device::cuda;
    return out;
  }
};

TEST_F(OnGpu, ComputesTimesAndProfiles) {
  Bench bench = OnGpu::bench();
  Candidate candidate = bench.start();
  CallOptions options;
  options.timed = true;
  options.flush_bytes = int64_t{256} << 20;
  options.poison = 7;
  auto failure = bench.use(candidate, "honest", options);
  ASSERT_FALSE(failure) << failure->message << failure->printed;
  EXPECT_TRUE(bench.right(candidate));
  EXPECT_EQ(bench.called.damage, "");

  auto warm = candidate.call(0, {&bench.vector, 1}, options);
  ASSERT_TRUE(warm.ok());
  EXPECT_GT(warm.value.event_ns, 1'000);
  EXPECT_LT(warm.value.event_ns, warm.value.wall_ns);
  EXPECT_LT(warm.value.wall_ns, warm.value.round_trip_ns);
  EXPECT_LT(warm.value.wall_ns, 1'000'000) << "a tiny kernel";
  EXPECT_EQ(warm.value.threads_before, warm.value.threads_after);
  EXPECT_GT(warm.value.device_bytes, 0);
  std::printf("wall %.1f us, events %.1f us, round trip %.1f us\n",
              static_cast<double>(warm.value.wall_ns) / 1e3, static_cast<double>(warm.value.event_ns) / 1e3,
              static_cast<double>(warm.value.round_trip_ns) / 1e3);

  options = {};
  options.misalign = 1;
  options.states_in_place = true;
  const std::pair<int, int> states[] = {{0, 0}};
  ASSERT_TRUE(candidate.call(0, {&bench.vector, 1}, options, states).ok());
  EXPECT_TRUE(bench.right(candidate));

  Slots slots{.inputs_at = bench.x.offset, .outputs_at = bench.y, .inputs = {0}, .outputs = {0}};
  const TensorAt zeros{bench.vector, -1};
  ASSERT_TRUE(candidate.prepare_series(2, {&zeros, 1}, {&bench.vector, 1}).ok());
  ASSERT_TRUE(candidate.series(slots, {.count = 1000}).ok());
  EXPECT_EQ(bench.floats(bench.y)[999], 2997);
  EXPECT_TRUE(candidate.call(0, {&bench.vector, 1}).ok());

  auto profile = candidate.profile(0, {&bench.vector, 1});
  if (!profile.ok() && profile.failure->kind == FailureKind::refused)
    GTEST_SKIP() << "no profiler: " << profile.failure->message;
  ASSERT_TRUE(profile.ok()) << profile.failure->message << profile.failure->printed;
  ASSERT_EQ(profile.value.size(), 1u);
  EXPECT_EQ(profile.value[0].name, "multiply(float const*, float const*, float*, long)");
  EXPECT_EQ(profile.value[0].grid[0], 8);
  EXPECT_GT(profile.value[0].registers, 0);
  EXPECT_GT(profile.value[0].end_ns, profile.value[0].start_ns);
}

struct Expected {
  const char* name;
  FailureKind kind;
};

TEST_F(OnGpu, NamesWhatHostileCandidatesDid) {
  for (const Expected& expected :
       {Expected{"crashes", FailureKind::crashed}, Expected{"hangs", FailureKind::hung},
        Expected{"hangs_in_kernel", FailureKind::hung}, Expected{"forks", FailureKind::forbidden},
        Expected{"becomes_another", FailureKind::forbidden}, Expected{"connects", FailureKind::forbidden},
        Expected{"takes_all_memory", FailureKind::out_of_memory},
        Expected{"forges_answers", FailureKind::broken_protocol}, Expected{"leaves", FailureKind::left_early},
        Expected{"leaves_when_loaded", FailureKind::left_early}, Expected{"refuses", FailureKind::refused},
        Expected{"throws", FailureKind::crashed}, Expected{"faults", FailureKind::crashed}}) {
    Bench bench = OnGpu::bench();
    Options options;
    options.time_limit = std::chrono::milliseconds(8'000);
    options.memory_limit = int64_t{2} << 30;
    Candidate candidate = bench.start(options);
    auto failure = bench.use(candidate, expected.name);
    ASSERT_TRUE(failure) << expected.name;
    EXPECT_EQ(failure->kind, expected.kind)
        << expected.name << ": " << name(failure->kind) << ": " << failure->message << failure->printed;
    std::printf("%s: %s\n", expected.name, failure->message.c_str());
  }
  Bench bench = OnGpu::bench();
  Candidate next = bench.start();
  EXPECT_FALSE(bench.use(next, "honest"));
  EXPECT_TRUE(bench.right(next));
}

TEST_F(OnGpu, SeesAWriteOnePastTheEnd) {
  Bench bench = OnGpu::bench();
  Candidate candidate = bench.start();
  auto failure = bench.use(candidate, "writes_past_the_end");
  ASSERT_FALSE(failure) << failure->message;
  EXPECT_EQ(bench.called.damage.find("output 0: "), 0u) << bench.called.damage;
}

TEST_F(OnGpu, MayUseLibraries) {
  Bench bench = OnGpu::bench();
  bench.libraries = {"cublas", "cublasLt", "cudnn"};
  Candidate candidate = bench.start();
  auto failure = bench.use(candidate, "uses_libraries");
  ASSERT_FALSE(failure) << failure->message << failure->printed;
  EXPECT_TRUE(bench.right(candidate));
  auto again = candidate.call(0, {&bench.vector, 1});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value.threads_before, again.value.threads_after);
}

TEST_F(OnGpu, MovesLargeTensors) {
  Bench bench = OnGpu::bench();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  const TensorType large{DType::f32, {int64_t{1} << 28}, {}};
  auto offset = bench.arena.allocate(large.bytes());
  ASSERT_TRUE(offset);
  bench.floats(*offset)[(int64_t{1} << 28) - 1] = 5;
  const TensorAt input{large, *offset};
  const auto start = std::chrono::steady_clock::now();
  auto set = candidate.place({&input, 1});
  ASSERT_TRUE(set.ok());
  std::printf("1 GiB placed in %.2f s\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  ASSERT_TRUE(candidate.call(set.value, {&large, 1}).ok());
  const Range all{4, large.bytes()};  // past the last whole piece too
  const auto fetched = std::chrono::steady_clock::now();
  ASSERT_TRUE(candidate.fetch_output(0, {&all, 1}, *offset).ok());
  std::printf("1 GiB fetched in %.2f s\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - fetched).count());
  EXPECT_EQ(bench.floats(*offset)[(int64_t{1} << 28) - 2], 15);
}

// What the reference does in Python (device/arena.py): memory of the GPU that has a descriptor.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes) {
    call("cuInit", 0u);
    call("cuDevicePrimaryCtxRetain", &context_, 0);
    call("cuCtxSetCurrent", context_);
    const struct {  // CUmemAllocationProp: pinned, shared as a descriptor, on device 0
      int type = 1, handle_types = 1, location_type = 1, location_id = 0;
      void* windows = nullptr;
      uint64_t flags = 0;
    } properties;
    const std::array<int, 3> access = {1, 0, 3};  // CUmemAccessDesc: device 0, read and write
    size_t unit = 0;
    call("cuMemGetAllocationGranularity", &unit, &properties, 1);
    size_ = (bytes + unit - 1) / unit * unit;
    call("cuMemCreate", &handle_, size_, &properties, 0ull);
    call("cuMemAddressReserve", &address_, size_, size_t{0}, uint64_t{0}, 0ull);
    call("cuMemMap", address_, size_, size_t{0}, handle_, 0ull);
    call("cuMemSetAccess", address_, size_, access.data(), size_t{1});
    int descriptor = -1;
    call("cuMemExportToShareableHandle", &descriptor, handle_, 1, 0ull);
    descriptor_ = Descriptor(descriptor);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() {
    call("cuMemUnmap", address_, size_);
    call("cuMemAddressFree", address_, size_);
    call("cuMemRelease", handle_);
  }

  DeviceArena arena() { return *DeviceArena::over(std::move(descriptor_), static_cast<int64_t>(size_)); }
  void write(size_t offset, const std::vector<float>& values) {
    call("cuMemcpyHtoD_v2", address_ + offset, static_cast<const void*>(values.data()), 4 * values.size());
    call("cuCtxSynchronize");
  }
  std::vector<float> read(size_t offset, size_t count) {
    std::vector<float> out(count);
    call("cuMemcpyDtoH_v2", static_cast<void*>(out.data()), address_ + offset, 4 * count);
    return out;
  }

 private:
  template <class... T>
  void call(const char* name, T... arguments) {
    static void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto function = reinterpret_cast<int (*)(T...)>(::dlsym(driver, name));
    ASSERT_TRUE(function) << name;
    ASSERT_EQ(function(arguments...), 0) << name;
  }
  void* context_ = nullptr;
  uint64_t handle_ = 0, address_ = 0;
  size_t size_ = 0;
  Descriptor descriptor_;
};

TEST_F(OnGpu, CopiesThroughSharedMemoryOfTheDevice) {
  constexpr size_t count = (size_t{1} << 26) + 3, second = (4 * count + 255) / 256 * 256;
  SharedMemory memory(second + 4 * count);
  const DeviceArena arena = memory.arena();
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 16777213);
  memory.write(0, values);
  Bench bench = OnGpu::bench();
  Candidate candidate = bench.start();
  const TensorType large{DType::f32, {static_cast<int64_t>(count)}, {}};
  const TensorAt input{large, 0, Where::device};
  EXPECT_FALSE(candidate.place({&input, 1}).ok()) << "nothing is shared yet";
  auto shared = candidate.share(arena);
  ASSERT_TRUE(shared.ok()) << shared.failure->message << shared.failure->printed;
  const auto start = std::chrono::steady_clock::now();
  auto set = candidate.place({&input, 1});
  ASSERT_TRUE(set.ok()) << set.failure->message;
  std::printf("256 MiB placed on the device in %.4f s\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  memory.write(0, std::vector<float>(count));
  auto fetched = candidate.fetch_input(set.value, 0, static_cast<int64_t>(second), Where::device);
  ASSERT_TRUE(fetched.ok()) << fetched.failure->message;
  EXPECT_EQ(memory.read(second, count), values);
  EXPECT_EQ(memory.read(0, 10), std::vector<float>(10));
  const TensorAt outside{large, arena.size() - 4, Where::device};
  EXPECT_FALSE(candidate.place({&outside, 1}).ok());

  ASSERT_FALSE(bench.use(candidate, "honest"));
  ASSERT_TRUE(candidate.call(set.value, {&large, 1}).ok());
  const Range all{0, large.bytes()};
  const auto called = std::chrono::steady_clock::now();
  ASSERT_TRUE(candidate.fetch_output(0, {&all, 1}, 0, Where::device).ok());
  std::printf("256 MiB fetched on the device in %.4f s\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - called).count());
  for (float& value : values) value *= 3;
  EXPECT_EQ(memory.read(0, count), values);
  ASSERT_TRUE(candidate.unshare().ok());
  EXPECT_FALSE(candidate.fetch_output(0, {&all, 1}, 0, Where::device).ok());
  ASSERT_TRUE(candidate.share(arena).ok()) << "again";
  EXPECT_TRUE(candidate.fetch_output(0, {&all, 1}, 0, Where::device).ok());
}

}  // namespace
}  // namespace stitch::runner
