#include "runner/candidate.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "runner/ready.h"
#include "runner/testdata/bench.h"

namespace stitch::runner {
namespace {

TEST(Candidate, ComputesAndIsFetched) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  auto failure = bench.use(candidate, "honest");
  ASSERT_FALSE(failure) << failure->message << failure->printed;
  EXPECT_TRUE(bench.right(candidate));
  EXPECT_EQ(bench.called.damage, "");
  EXPECT_GT(bench.called.round_trip_ns, 0);
  auto again = candidate.call(0, {&bench.vector, 1});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value.threads_before, again.value.threads_after);
  EXPECT_TRUE(candidate.destroy().ok());
}

TEST(Candidate, SharesAProcessWithThoseBeforeIt) {
  const Options shared{.shared_process = true};
  std::vector<std::string> processes;
  for (int i = 0; i < 3; ++i) {
    Bench bench = Bench::create();  // an arena of its own
    Candidate candidate = bench.start(shared);
    auto failure = bench.use(candidate, "honest");
    ASSERT_FALSE(failure) << failure->message << failure->printed;
    EXPECT_TRUE(bench.right(candidate));
    EXPECT_EQ(candidate.printed(), "");
    processes.push_back(std::to_string(candidate.process_number()));
  }
  EXPECT_EQ(processes[0], processes[1]);
  EXPECT_EQ(processes[0], processes[2]);
  // A failing candidate gets its own process; the next one starts another.
  for (const char* bad : {"crashes", "faults", "hangs_in_kernel"}) {
    Bench bench = Bench::create();
    Candidate candidate =
        bench.start({.time_limit = std::chrono::milliseconds(1500), .shared_process = true});
    EXPECT_TRUE(bench.use(candidate, bad)) << bad;
  }
  Bench bench = Bench::create();
  Candidate next = bench.start(shared);
  EXPECT_NE(std::to_string(next.process_number()), processes[0]);
  ASSERT_FALSE(bench.use(next, "honest"));
  EXPECT_TRUE(bench.right(next));
  // Without shared_process a used process is never handed out.
  const int used = next.process_number();
  { const Candidate ends = std::move(next); }
  Bench other = Bench::create();
  Candidate alone = other.start();
  EXPECT_NE(alone.process_number(), used);
}

TEST(ReadyCandidates, AreTakenOnceAndByTheirKind) {
  ReadyCandidates& ready = ReadyCandidates::here();
  const Options usual, roomy{.memory_limit = int64_t{3} << 30};
  for (int i = 0; i < 20; ++i) ready.expect(usual);  // at most one waits
  ready.settle();
  Bench bench = Bench::create();
  Candidate candidate = bench.start(usual);
  ASSERT_FALSE(bench.use(candidate, "honest"));
  EXPECT_TRUE(bench.right(candidate));
  EXPECT_FALSE(ready.take(usual));
  ready.expect(usual);
  ready.settle();
  ready.expect(roomy);  // makes room for itself
  ready.settle();
  EXPECT_FALSE(ready.take(usual));
  EXPECT_TRUE(ready.take(roomy));
  EXPECT_FALSE(ready.take(roomy));
}

// Killed while it waits (by the kernel, say): the next caller gets a new one.
TEST(ReadyCandidates, MayDieMeanwhile) {
  ReadyCandidates& ready = ReadyCandidates::here();
  ready.expect({});
  ready.settle();
  int killed = 0;
  for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
    const auto children = read_file(thread.path() / "children");
    if (!children) GTEST_SKIP() << "this kernel doesn't tell children";
    for (const std::string& child : split(trim(*children), ' '))
      if (!child.empty()) killed += ::kill(-std::stoi(child), SIGKILL) == 0;
  }
  EXPECT_GE(killed, 1);
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  EXPECT_TRUE(bench.right(candidate));
}

TEST(Candidate, FetchesRangesAndInputs) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  const Range ranges[] = {{8, 16}, {40, 44}};
  ASSERT_TRUE(candidate.fetch_output(0, ranges, bench.y).ok());
  EXPECT_EQ(bench.floats(bench.y)[0], 6);
  EXPECT_EQ(bench.floats(bench.y)[1], 9);
  EXPECT_EQ(bench.floats(bench.y)[2], 30);
  ASSERT_TRUE(candidate.fetch_input(0, 0, bench.y).ok());
  EXPECT_EQ(bench.floats(bench.y)[7], 7);
  const Range outside{0, bench.vector.bytes() + 4};
  auto reply = candidate.fetch_output(0, {&outside, 1}, bench.y);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.failure->kind, FailureKind::refused);
}

TEST(Candidate, RunsRegionsTimedAndMisaligned) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  CallOptions options;
  options.region = 0;
  EXPECT_TRUE(candidate.call(0, {&bench.vector, 1}, options).ok());
  EXPECT_TRUE(bench.right(candidate));
  options.region = 7;
  auto wrong = candidate.call(0, {&bench.vector, 1}, options);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.failure->message, "there is one region");

  options = {};
  options.timed = true;
  auto timed = candidate.call(0, {&bench.vector, 1}, options);
  ASSERT_TRUE(timed.ok());
  EXPECT_GT(timed.value.wall_ns, 0);
  EXPECT_LT(timed.value.wall_ns, timed.value.round_trip_ns);

  options = {};
  options.misalign = 1;
  EXPECT_TRUE(candidate.call(0, {&bench.vector, 1}, options).ok());
  EXPECT_TRUE(bench.right(candidate));

  auto second = candidate.place({&bench.x, 1});
  EXPECT_TRUE(candidate.place_into(second.value, {&bench.x, 1}).ok());
  EXPECT_FALSE(candidate.place_into(second.value, {}).ok());
  EXPECT_FALSE(candidate.place_into(second.value + 7, {&bench.x, 1}).ok());
  EXPECT_TRUE(candidate.drop(second.value).ok());
  EXPECT_FALSE(candidate.drop(second.value).ok());
}

TEST(Candidate, TimesARegionRunByRun) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  for (bool profiler : {true, false}) {
    auto timed = candidate.time_region(0, {&bench.vector, 1}, {&bench.vector, 1},
                                       {.repeats = 3, .flush_bytes = 1 << 20, .profiler = profiler});
    ASSERT_TRUE(timed.ok()) << timed.failure->message;
    ASSERT_GE(timed.value.size(), 1u);
    EXPECT_LE(timed.value.size(), 3u);
    for (const RegionRun& run : timed.value) {
      EXPECT_EQ(run.activities, profiler ? 1 : 0);
      EXPECT_GT(run.event_ns, 0);
    }
  }
  EXPECT_FALSE(candidate.time_region(7, {&bench.vector, 1}, {&bench.vector, 1}, {}).ok());
  EXPECT_TRUE(candidate.time_region(0, {&bench.vector, 1}, {&bench.vector, 1}, {}).ok());
}

TEST(Candidate, RunsSeriesOnInputsOfTheirOwn) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  constexpr int calls = 5;
  const int64_t step = bench.vector.bytes();
  Slots slots{.inputs_step = step, .outputs_step = step, .inputs = {0}, .outputs = {0}};
  slots.inputs_at = *bench.arena.allocate(calls * step);
  slots.outputs_at = *bench.arena.allocate(calls * step);
  for (int64_t i = 0; i < calls * Bench::count; ++i)
    bench.floats(slots.inputs_at)[i] = static_cast<float>(i + 1);
  auto is_right = [&] {
    for (int64_t i = 0; i < calls * Bench::count; ++i)
      if (bench.floats(slots.outputs_at)[i] != 3 * static_cast<float>(i + 1)) return false;
    return true;
  };
  const TensorAt zeros{bench.vector, -1};
  ASSERT_TRUE(candidate.prepare_series(2, {&zeros, 1}, {&bench.vector, 1}).ok());
  EXPECT_TRUE(candidate.can_profile().ok());
  // Without a program everything but the calls works.
  EXPECT_FALSE(candidate.series(slots, {.count = calls}).ok());
  EXPECT_TRUE(candidate.series(slots, {.count = calls, .run = false}).ok());
  EXPECT_FALSE(is_right());

  ASSERT_FALSE(bench.use(candidate, "honest"));
  auto back_to_back = candidate.series(slots, {.count = calls});
  ASSERT_TRUE(back_to_back.ok()) << back_to_back.failure->message;
  EXPECT_TRUE(back_to_back.value.wall_ns.empty());
  EXPECT_TRUE(is_right());

  SeriesOptions timed{.count = calls, .timed = true, .poison = 3};
  timed.fillings = {Filling::nan, Filling::finite, Filling::old_result, Filling::finite, Filling::nan};
  std::memset(bench.arena.bytes(slots.outputs_at, calls * step).data(), 0, static_cast<size_t>(calls * step));
  auto alone = candidate.series(slots, timed);
  ASSERT_TRUE(alone.ok()) << alone.failure->message;
  EXPECT_EQ(alone.value.wall_ns.size(), 5u);
  EXPECT_EQ(alone.value.damage, "");
  EXPECT_TRUE(is_right());
  EXPECT_EQ(bench.floats(slots.inputs_at)[7], 8) << "inputs come back";
}

TEST(Candidate, RefusesSettingsThatItDoesNotHave) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  auto refused = candidate.create({&bench.scale, 1}, {}, {{"scale.threads", 64}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure->kind, FailureKind::refused);
  EXPECT_EQ(refused.failure->message, "the program does not export stitch_set");
  EXPECT_TRUE(candidate.create({&bench.scale, 1}).ok());
}

TEST(Candidate, WritesAStateOverACopyOfItsInput) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  CallOptions options;
  options.states_in_place = true;
  const std::pair<int, int> states[] = {{0, 0}};
  ASSERT_TRUE(candidate.call(0, {&bench.vector, 1}, options, states).ok());
  EXPECT_TRUE(bench.right(candidate));
  ASSERT_TRUE(candidate.fetch_input(0, 0, bench.y).ok());
  EXPECT_EQ(bench.floats(bench.y)[7], 7) << "the set keeps its values";
}

TEST(Candidate, AnswersToWrongArguments) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  const TensorAt two[] = {bench.x, bench.x}, out{bench.vector}, nothing{bench.vector, -1};
  EXPECT_EQ(candidate.call_with(two, {&out, 1}).value, 1);
  EXPECT_EQ(candidate.call_with({&nothing, 1}, {&out, 1}).value, 1);
  EXPECT_EQ(candidate.call_with({&bench.x, 1}, {&out, 1}).value, 0);
}

TEST(Candidate, SeesAnArenaThatGrew) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  auto far = bench.arena.allocate(int64_t{64} << 20);
  ASSERT_TRUE(far);
  const Range all{0, bench.vector.bytes()};
  ASSERT_TRUE(candidate.fetch_output(0, {&all, 1}, *far + (int64_t{63} << 20)).ok());
  EXPECT_EQ(bench.floats(*far + (int64_t{63} << 20))[2], 6);
}

// The emulated GPU's memory is the host's: a memory file takes the place of device memory.
TEST(Candidate, CopiesThroughSharedMemoryOfTheDevice) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  const TensorAt input{bench.vector, 256, Where::device};
  EXPECT_EQ(candidate.place({&input, 1}).failure->kind, FailureKind::refused) << "nothing is shared yet";
  auto nothing = DeviceArena::over(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), 1 << 20);
  ASSERT_TRUE(nothing);
  auto refused = candidate.share(*nothing);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure->kind, FailureKind::refused) << "then the host's arena has to do";
  EXPECT_TRUE(bench.right(candidate));

  Descriptor memory(::memfd_create("device", MFD_CLOEXEC));
  const int file = memory.get();
  ASSERT_EQ(::ftruncate(file, 1 << 20), 0);
  auto arena = DeviceArena::over(std::move(memory), 1 << 20);
  ASSERT_TRUE(arena);
  ASSERT_TRUE(candidate.share(*arena).ok());
  const auto size = static_cast<size_t>(bench.vector.bytes());
  std::vector<float> values(bench.count, 2);
  ASSERT_EQ(::pwrite(file, values.data(), size, 256), bench.vector.bytes());
  auto set = candidate.place({&input, 1});
  ASSERT_TRUE(set.ok()) << set.failure->message;
  ASSERT_TRUE(candidate.call(set.value, {&bench.vector, 1}).ok());
  const Range all{0, bench.vector.bytes()};
  ASSERT_TRUE(candidate.fetch_output(0, {&all, 1}, 8192, Where::device).ok());
  ASSERT_EQ(::pread(file, values.data(), size, 8192), bench.vector.bytes());
  EXPECT_EQ(values, std::vector<float>(bench.count, 6));
  ASSERT_TRUE(candidate.fetch_input(set.value, 0, 16384, Where::device).ok());
  ASSERT_EQ(::pread(file, values.data(), size, 16384), bench.vector.bytes());
  EXPECT_EQ(values, std::vector<float>(bench.count, 2));
  EXPECT_EQ(candidate.fetch_output(0, {&all, 1}, 1 << 20, Where::device).failure->kind, FailureKind::refused);
  ASSERT_TRUE(candidate.share(*arena).ok()) << "again";
  EXPECT_TRUE(candidate.place({&input, 1}).ok());
  ASSERT_TRUE(candidate.unshare().ok());
  EXPECT_EQ(candidate.place({&input, 1}).failure->kind, FailureKind::refused);
  EXPECT_TRUE(candidate.unshare().ok()) << "nothing is there";
}

TEST(Candidate, ListsWhatTheDeviceDid) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  ASSERT_FALSE(bench.use(candidate, "honest"));
  auto profile = candidate.profile(0, {&bench.vector, 1});
  ASSERT_TRUE(profile.ok()) << profile.failure->message;
  ASSERT_EQ(profile.value.size(), 1u);
  EXPECT_NE(profile.value[0].name.find("multiply"), std::string::npos) << profile.value[0].name;
  EXPECT_EQ(profile.value[0].grid[0], 8);
  EXPECT_EQ(profile.value[0].block[0], 128);
}

TEST(Candidate, NamesWhatALibraryLacks) {
  Bench bench = Bench::create();
  Candidate candidate = bench.start();
  auto loaded = candidate.load(candidate_library("lacks_functions"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.failure->kind, FailureKind::refused);
  EXPECT_EQ(loaded.failure->message,
            "the library does not export stitch_create, stitch_run, stitch_destroy, stitch_last_error");
}

}  // namespace
}  // namespace stitch::runner
