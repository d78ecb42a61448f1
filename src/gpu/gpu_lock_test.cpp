#include "gpu/gpu_lock.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file.h"

namespace stitch {

TEST(GpuLock, IsGivenBackAndTakenOnceAProcess) {
  auto scratch = ScratchFolder::create("stitchcuda-gpu-lock");
  ASSERT_TRUE(scratch);
  const char* before = std::getenv("STITCHCUDA_CACHE");
  std::string kept = before ? before : "";
  ::setenv("STITCHCUDA_CACHE", scratch->path().c_str(), 1);
  auto is_free = [] { return FileLock::if_free("gpu.lock")->has_value(); };
  {
    auto alone = GpuLock::take();
    ASSERT_TRUE(alone);
    EXPECT_FALSE(is_free());
    EXPECT_TRUE(GpuLock::share()) << "this process has it already";
    GpuLock moved = *std::move(alone);
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
  {
    auto shared = GpuLock::share();
    ASSERT_TRUE(shared);
    EXPECT_FALSE(is_free()) << "exclusive";
    EXPECT_TRUE(FileLock::wait("gpu.lock", FileLock::Kind::beside_others));
  }
  EXPECT_TRUE(is_free());
  before ? ::setenv("STITCHCUDA_CACHE", kept.c_str(), 1) : ::unsetenv("STITCHCUDA_CACHE");
}

TEST(GpuLock, StaysSharedBetweenTheRequestsOfAVisit) {
  auto scratch = ScratchFolder::create("stitchcuda-gpu-lock");
  ASSERT_TRUE(scratch);
  const char* before = std::getenv("STITCHCUDA_CACHE");
  const std::string kept = before ? before : "";
  ::setenv("STITCHCUDA_CACHE", scratch->path().c_str(), 1);
  auto is_free = [] { return FileLock::if_free("gpu.lock")->has_value(); };
  {
    const GpuVisit visit;
    EXPECT_TRUE(is_free()) << "nothing was asked for yet";
    EXPECT_TRUE(GpuLock::share());
    EXPECT_FALSE(is_free());
    EXPECT_FALSE(GpuLock::is_held()) << "no request is under way";
    EXPECT_TRUE(GpuLock::take()) << "this thread makes room for itself";
    EXPECT_TRUE(is_free());
    EXPECT_TRUE(GpuLock::share());
    GpuVisit::step_out();
    EXPECT_TRUE(is_free());
    // Exclusive users get in between two requests of a long visit.
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(GpuLock::share());
    std::atomic<bool> was_alone = false;
    std::thread other([&] {
      EXPECT_TRUE(GpuLock::take());
      was_alone = true;
    });
    while (!was_alone) EXPECT_TRUE(GpuLock::share());
    EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
    other.join();
    EXPECT_TRUE(GpuLock::share());
    EXPECT_FALSE(is_free());
    // A visit may wait for a thread that wants the GPU.
    std::thread([&] { EXPECT_TRUE(GpuLock::take()); }).join();
    EXPECT_TRUE(is_free());
    EXPECT_TRUE(GpuLock::share());
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
  before ? ::setenv("STITCHCUDA_CACHE", kept.c_str(), 1) : ::unsetenv("STITCHCUDA_CACHE");
}

TEST(GpuLock, TellsWhoeverWaitsWhoHasIt) {
  auto scratch = ScratchFolder::create("stitchcuda-gpu-lock");
  ASSERT_TRUE(scratch);
  const char* before = std::getenv("STITCHCUDA_CACHE");
  const std::string kept = before ? before : "";
  ::setenv("STITCHCUDA_CACHE", scratch->path().c_str(), 1);
  std::mutex mutex;
  std::vector<std::string> told;
  GpuLock::introduce("run 1116-kmtz");
  GpuLock::when_waiting([&](std::string_view text) {
    std::lock_guard hold(mutex);
    told.emplace_back(text);
  });
  auto count = [&] {
    std::lock_guard hold(mutex);
    return told.size();
  };
  std::optional<GpuLock> first(*GpuLock::take());
  EXPECT_EQ(count(), 0u);
  std::thread second([] { EXPECT_TRUE(GpuLock::take()); });
  while (count() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(*FileLock::if_free("gpu.door", FileLock::Kind::beside_others))
      << "others who want it alone queue";
  EXPECT_FALSE(*FileLock::if_free("gpu.door", FileLock::Kind::alone)) << "sharers come after them";
  first.reset();
  second.join();
  EXPECT_EQ(told, std::vector<std::string>{
                      format("waiting for the GPU (held by pid {}, run 1116-kmtz)", ::getpid())});
  EXPECT_EQ(FileLock::noted("gpu.lock"), "");
  GpuLock::introduce("");
  GpuLock::when_waiting({});
  before ? ::setenv("STITCHCUDA_CACHE", kept.c_str(), 1) : ::unsetenv("STITCHCUDA_CACHE");
}

}  // namespace stitch
