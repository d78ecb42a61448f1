#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/machine/descriptor.h"
#include "base/machine/file_lock.h"
#include "base/machine/interrupt.h"
#include "base/machine/parallel.h"
#include "base/machine/process.h"
#include "base/testdata/must.h"

namespace stitch {

namespace {

TEST(Process, LinesGoInAndOut) {
  auto child = Child::start({{"cat"}, {}, {}});
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->send("hello"));
  EXPECT_EQ(*child->read_line(), "hello");
  EXPECT_EQ(child->wait().exit_code, 0);
}

// Such a handler may wait for what another thread does (OpenBLAS's does).
TEST(Process, StartsWithoutTheForkHandlersOfLibraries) {
  static std::atomic<bool> asked = false;
  ::pthread_atfork([] { asked = true; }, nullptr, nullptr);
  EXPECT_TRUE(run({{"true"}, {}, {}}));
  EXPECT_FALSE(asked);
}

TEST(Process, ErrorsAndExitCodesAreKept) {
  auto finished = run({{"sh", "-c", "echo out; echo bad >&2; exit 7"}, {}, {}});
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit_code, 7);
  EXPECT_EQ(finished->error_tail, "bad\n");
}

TEST(Process, ATimeLimitEndsTheWholeGroup) {
  auto begin = std::chrono::steady_clock::now();
  auto finished = run({{"sh", "-c", "sleep 600 & sleep 600"}, {}, std::chrono::milliseconds(100)});
  ASSERT_TRUE(finished);
  EXPECT_TRUE(finished->timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
}

TEST(Process, IsEndedSoonAfterSomebodyAsksForIt) {
  std::atomic<bool> enough = false;
  EndChildrenWhen given_up([&] { return enough.load(); });
  std::thread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    enough = true;
  });
  const auto begin = std::chrono::steady_clock::now();
  auto finished = run({.words = {"sh", "-c", "sleep 600"}, .extra_environment = {}});
  asker.join();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, "stopped");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
}

TEST(Process, AChildThatIsGoneIsAnError) {
  auto child = Child::start({{"true"}, {}, {}});
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->read_line());
  bool failed = false;
  for (int i = 0; i < 1000 && !failed; ++i) failed = !child->send(std::string(1000, 'x'));
  EXPECT_TRUE(failed);
}

TEST(Process, AMissingProgramIsTheUsersMistake) {
  auto child = Child::start({{"no-such-program-here"}, {}, {}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().text(), "program 'no-such-program-here' not found on the PATH");
}

TEST(Process, MuchOnStderrDoesNotBlock) {
  auto finished = run({{"sh", "-c", "head -c 3000000 /dev/zero >&2; echo done"}, {}, {}});
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit_code, 0);
  EXPECT_EQ(finished->error_tail.size(), 64u * 1024);
}

TEST(Parallel, EveryIndexOnce) {
  for (int64_t count : {0, 1, 7, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (auto& times : seen) EXPECT_EQ(times, 1);
  }
}

TEST(Parallel, ExceptionsReachTheCaller) {
  EXPECT_THROW(parallel_for(100, 1, [](int64_t, int64_t) { throw std::runtime_error("x"); }),
               std::runtime_error);
}

}  // namespace

TEST(MachineShare, WaitsUntilThereIsRoom) {
  auto scratch = must(ScratchFolder::create("stitchcuda-share"));
  const char* before = std::getenv("STITCHCUDA_CACHE");
  std::string kept = before ? before : "";
  ::setenv("STITCHCUDA_CACHE", scratch.path().c_str(), 1);
  {
    auto five = MachineShare::take("room", 5, 8), three = MachineShare::take("room", 3, 8);
    ASSERT_TRUE(five && three);
    EXPECT_EQ(five->parts(), 5u);
    EXPECT_EQ(three->parts(), 3u);
    EXPECT_TRUE(MachineShare::take("another room", 8, 8));
    std::optional<MachineShare> large(*std::move(five));
    std::atomic<bool> got = false;
    std::jthread other([&] { got = MachineShare::take("room", 8, 8)->parts() == 8; });
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_FALSE(got);
    large.reset();
    std::optional<MachineShare>(*std::move(three)).reset();
    other.join();
    EXPECT_TRUE(got);
  }
  before ? ::setenv("STITCHCUDA_CACHE", kept.c_str(), 1) : ::unsetenv("STITCHCUDA_CACHE");
}

namespace {

Descriptor file_with(std::string_view text) {
  Descriptor out(::memfd_create("text", MFD_CLOEXEC));
  EXPECT_EQ(::write(out.get(), text.data(), text.size()), std::ssize(text));
  return out;
}

std::string text_of(const Descriptor& file) {
  std::array<char, 100> buffer{};
  const ssize_t count = ::pread(file.get(), buffer.data(), buffer.size(), 0);
  return count < 0 ? "nothing" : std::string(buffer.data(), static_cast<size_t>(count));
}

TEST(Descriptor, TravelsWithTheBytesItWasSentWith) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Descriptor here(ends[0]), there(ends[1]), got;
  std::array<char, 100> buffer{};
  ASSERT_EQ(::write(here.get(), "plain\n", 6), 6);
  EXPECT_EQ(receive_with_descriptor(there.get(), buffer, got), 6);
  EXPECT_EQ(got.get(), -1);
  {
    Descriptor file = file_with("shared");
    EXPECT_EQ(send_with_descriptor(here.get(), "with\n", file.get()), 5);
  }
  EXPECT_EQ(receive_with_descriptor(there.get(), buffer, got), 5);
  EXPECT_EQ(text_of(got), "shared");
  here = Descriptor();
  EXPECT_EQ(receive_with_descriptor(there.get(), buffer, got), 0);
}

TEST(Letterbox, KeepsADescriptorUntilItIsTaken) {
  auto scratch = must(ScratchFolder::create("stitchcuda-letterbox"));
  const fs::path path = scratch.path() / "socket";
  auto box = must(Letterbox::create(path));
  EXPECT_FALSE(box.take());
  {
    Descriptor sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)), file = file_with("left here");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(sender.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(send_with_descriptor(sender.get(), "x", file.get()), 1);
  }
  auto taken = must(box.take());
  EXPECT_EQ(text_of(taken), "left here");
  EXPECT_FALSE(Letterbox::create(path)) << "it is taken";
  EXPECT_FALSE(Letterbox::create(scratch.path() / std::string(200, 'x'))) << "sockets have short paths";
}

// How a process with a thread that a library started before main ends after a signal: OpenBLAS starts such
// threads, and they block nothing.
int end_after(int number, bool polite) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(600)); }).detach();
    clean_up_on_interrupts();
    std::optional<StopPolitely> stop;
    if (polite) stop.emplace();
    ::kill(::getpid(), number);
    for (int i = 0; i < 60'000 && !stop_requested(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::_exit(stop_requested() ? 42 : 43);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Interrupt, APoliteStopIsARequestWhicheverThreadGetsTheSignal) {
  const int status = end_after(SIGINT, true);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

TEST(Interrupt, OthersEndTheProcess) {
  for (auto [number, polite] : {std::pair(SIGINT, false), std::pair(SIGTERM, true)}) {
    const int status = end_after(number, polite);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
  }
}

}  // namespace

}  // namespace stitch
