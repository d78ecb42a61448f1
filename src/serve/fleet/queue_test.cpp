#include "serve/fleet/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "base/testdata/must.h"
#include "http/client.h"
#include "serve/fleet/desk.h"

namespace stitch::serve {
namespace {

using namespace std::chrono_literals;

SharedJson json(Json value) { return std::make_shared<const Json>(std::move(value)); }

// Leases end when the test says so, however long this machine takes.
struct TestClock {
  std::atomic<std::chrono::steady_clock::time_point> now = std::chrono::steady_clock::now();
  void advance(std::chrono::milliseconds by) { now = now.load() + by; }
  QueueOptions options() const {
    return {.most_waiting = 100,
            .lease_time = 300ms,
            .lease_clock = [this] { return now.load(); },
            .most_losses = 3,
            .given_up = json("given up")};
  }
};

bool soon(const std::function<bool()>& true_now) {
  for (int i = 0; i < 6000 && !true_now(); ++i) std::this_thread::sleep_for(10ms);
  return true_now();
}

TEST(WorkQueue, EqualWorkIsDoneOnceAndEverybodyIsTold) {
  TestClock clock;
  WorkQueue queue(clock.options());
  std::atomic<int> told = 0;
  for (int i = 0; i < 100; ++i) queue.submit({"a", json(1)}, [&](const SharedJson&) { ++told; });
  auto lease = queue.take(1s);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(queue.take(0ms));
  EXPECT_TRUE(queue.hand_in(lease->id, "a", json(2)));
  EXPECT_EQ(told, 100);
  EXPECT_FALSE(queue.hand_in(lease->id, "a", json(3)));
  EXPECT_EQ(queue.counts().done, 1u);
  EXPECT_EQ(queue.counts().twice, 1u);
}

TEST(WorkQueue, ALostLeaseIsTakenAgainAndTheFirstResultCounts) {
  TestClock clock;
  WorkQueue queue(clock.options());
  std::vector<int> results;
  queue.submit({"a", json(1)}, [&](const SharedJson& result) { results.push_back(result->get<int>()); });
  std::optional<Lease> first, second;
  queue.take_later("w1", 1s, [&](std::optional<Lease> lease) { first = std::move(lease); });
  ASSERT_TRUE(first);
  std::atomic<bool> taken = false;
  queue.take_later("w2", 5s, [&](std::optional<Lease> lease) {
    second = std::move(lease);
    taken = true;
  });
  clock.advance(301ms);
  ASSERT_TRUE(soon([&] { return taken.load(); }));
  ASSERT_TRUE(second);
  EXPECT_FALSE(queue.renew(first->id));
  EXPECT_TRUE(queue.renew(second->id));
  EXPECT_TRUE(queue.hand_in(first->id, "a", json(1)));  // slow, not dead
  EXPECT_FALSE(queue.hand_in(second->id, "a", json(2)));
  EXPECT_EQ(results, std::vector{1});
  EXPECT_EQ(queue.counts().lost, 1u);
}

TEST(WorkQueue, WhatKillsItsWorkersIsGivenUp) {
  std::atomic<bool> over = false;
  std::atomic<int> leases = 0;
  TestClock clock;
  WorkQueue queue(clock.options());
  queue.submit({"a", json(1)}, [&](const SharedJson& result) { over = *result == "given up"; });
  for (int i = 0; i < 4; ++i)
    queue.take_later("w", 3s, [&](std::optional<Lease> lease) { leases += lease.has_value(); });
  for (int lost = 1; lost <= 3; ++lost) {
    EXPECT_TRUE(soon([&] { return leases == lost; }));
    clock.advance(301ms);
  }
  EXPECT_TRUE(soon([&] { return over.load(); }));
  EXPECT_EQ(leases, 3);
}

TEST(WorkQueue, TooMuchIsRefusedAndWhatIsKnownIsAnsweredAtOnce) {
  TestClock clock;
  QueueOptions options = clock.options();
  options.most_waiting = 1;
  options.recall = [](const std::string& key) { return key == "known" ? json(7) : nullptr; };
  WorkQueue queue(options);
  EXPECT_EQ(queue.submit({"a", json(1)}, {}), WorkQueue::Submitted::queued);
  EXPECT_EQ(queue.submit({"a", json(1)}, {}), WorkQueue::Submitted::joined);
  EXPECT_EQ(queue.submit({"b", json(1)}, {}), WorkQueue::Submitted::full);
  int told = 0;
  EXPECT_EQ(queue.submit({"known", json(1)}, [&](const SharedJson& result) { told = result->get<int>(); }),
            WorkQueue::Submitted::known);
  EXPECT_EQ(told, 7);
}

// Workers over HTTP, one of which takes work and is never heard of again.
TEST(Workers, AllIsDoneOnceAlthoughOneDies) {
  TestClock clock;
  WorkQueue queue(clock.options());
  WorkDesk desk(queue, {.device = "emulated", .renew_every = 0.1});
  auto server = http::Server::start(
      {}, [&](http::Request&& request, http::Reply reply) { desk.handle(request, reply); });
  ASSERT_TRUE(server);
  std::atomic<int> told = 0;
  for (int i = 0; i < 40; ++i)
    queue.submit({std::to_string(i), json(i)}, [&, i](const SharedJson& result) {
      told += *result == 2 * i;
      if (told == 39) clock.advance(301ms);  // only the dead one has a lease
    });
  const http::Url url{.host = "127.0.0.1", .path = "/fleet/lease", .port = (*server)->port()};
  auto dead =
      http::call({.method = "POST", .url = url, .body = R"({"worker": "dead", "device": "emulated"})"});
  ASSERT_TRUE(dead);
  ASSERT_EQ(dead->status, 200);
  auto other = http::call({.method = "POST", .url = url, .body = R"({"worker": "other", "device": "cuda"})"});
  EXPECT_EQ(other->status, 400);

  WorkerOptions options{
      .server = url, .name = "w", .device = "emulated", .patience = 5, .idle = 2, .jobs = 2};
  auto counts = must(work_for(options, [](const std::string&, const Json& payload) {
    std::this_thread::sleep_for(5ms);
    return Json(2 * payload.get<int>());
  }));
  EXPECT_EQ(told, 40);
  EXPECT_EQ(counts.done, 40);
  EXPECT_EQ(counts.counted, 40);
  EXPECT_EQ(queue.counts().lost, 1u);
}

TEST(Workers, LeaveAServerThatIsGone) {
  WorkerOptions options{
      .server = {.host = "127.0.0.1", .port = 1}, .name = "w", .device = "emulated", .patience = 0.1};
  auto counts = work_for(options, [](const std::string&, const Json&) { return Json(); });
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, "http_unreachable");
}

TEST(Base64, GoesThereAndBack) {
  for (const std::string text : {"", "a", "ab", "abc", "abcd", "\xff\x00\x10"})
    EXPECT_EQ(from_base64(to_base64(text)), text);
  EXPECT_EQ(to_base64("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
}

}  // namespace
}  // namespace stitch::serve
