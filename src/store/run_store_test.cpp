// Runs in and out of a store: what is listed, what is found, what a rewind hides, what remove leaves.
#include "store/run_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/text.h"
#include "store/database.h"

namespace stitch::store {
namespace {

class TheStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    auto made = ScratchFolder::create("stitch-store");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
    auto opened = RunStore::open(scratch->path() / "deep" / "runs.db");
    ASSERT_TRUE(opened) << opened.error().text();
    store.emplace(*std::move(opened));
  }

  store::Run begin(const std::string& task) {
    auto run = store->begin({.task = task, .graph = "g", .numerics = "default", .options = "{}"});
    EXPECT_TRUE(run) << run.error().text();
    return *run;
  }
  int64_t append(const store::Run& run, std::string kind, std::string body,
                 std::vector<std::string> blobs = {}) {
    auto sequence = store->append(run, {.elapsed = 1, .kind = std::move(kind), .body = std::move(body)},
                                  {.attempts = 1}, blobs);
    EXPECT_TRUE(sequence) << sequence.error().text();
    return *sequence;
  }
  std::string bodies(const store::Run& run, std::string_view kind = {}, bool all = false) {
    auto events = store->events(run, kind, all);
    EXPECT_TRUE(events) << events.error().text();
    std::vector<std::string> out;
    for (const StoredEvent& event : *events) out.push_back(event.body);
    return join(out, " ");
  }
  int64_t count(const char* table) {
    auto query = store->database().prepare(format("SELECT count(*) FROM {}", table).c_str());
    EXPECT_TRUE(query && query->step());
    return query->integer(0);
  }

  std::optional<ScratchFolder> scratch;
  std::optional<RunStore> store;
};

TEST_F(TheStore, ListsTheLastRunFirstWithItsSummary) {
  const store::Run first = begin("first"), second = begin("second");
  ASSERT_TRUE(
      store->append(first, {.kind = "a", .body = "1"},
                    {.attempts = 7, .kept = 3, .seconds_a_call = 0.5, .elapsed = 9, .measured = true}));
  ASSERT_TRUE(store->finish(second, RunState::failed, {}));
  auto runs = store->list();
  ASSERT_TRUE(runs) << runs.error().text();
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].start.task, "second");
  EXPECT_EQ((*runs)[0].state, RunState::failed);
  EXPECT_EQ((*runs)[1].state, RunState::running);  // this process is alive
  EXPECT_EQ((*runs)[1].summary.attempts, 7);
  EXPECT_EQ((*runs)[1].summary.kept, 3);
  EXPECT_EQ((*runs)[1].summary.seconds_a_call, 0.5);
  EXPECT_TRUE((*runs)[1].summary.measured);
  EXPECT_NE(first.origin, second.origin);
}

TEST_F(TheStore, FindsARunByABeginningThatOnlyItHas) {
  const store::Run first = begin("first"), second = begin("second");
  auto found = store->find(second.id);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->number, second.number);
  size_t shared = 0;
  while (first.id[shared] == second.id[shared]) ++shared;
  EXPECT_EQ(store->find(first.id.substr(0, shared + 1))->number, first.number);
  EXPECT_EQ(store->find(first.id.substr(0, shared)).error().code, "ambiguous_run");
  EXPECT_EQ(store->find("").error().code, "ambiguous_run");
  EXPECT_EQ(store->find("zzzz\x1b[2J").error().message, "there is no run 'zzzz?[2J'");
  EXPECT_EQ(store->find("%").error().code, "no_run");
}

TEST_F(TheStore, KeepsTextsOnceAndByteForByte) {
  const std::string source(10000, 'x'), odd("\0\xff\n", 3);
  const store::Run first = begin("first"), second = begin("second");
  append(first, "attempt", "{}", {source, odd});
  append(second, "attempt", "{}", {source});
  EXPECT_EQ(count("blobs"), 2);
  EXPECT_EQ(*store->blob(blob_hash(source)), source);
  EXPECT_EQ(*store->blob(blob_hash(odd)), odd);
  EXPECT_EQ(store->blob("none").error().code, "store_damaged");
  // Removing a run leaves what others have.
  ASSERT_TRUE(store->finish(first, RunState::shipped, {}));
  ASSERT_TRUE(store->remove(*store->find(first.id)));
  EXPECT_EQ(count("blobs"), 1);
  EXPECT_EQ(*store->blob(blob_hash(source)), source);
  EXPECT_EQ(store->remove(*store->find(second.id)).error().code, "run_running");
}

TEST_F(TheStore, RewindsEventsAndKeepsAnswers) {
  const store::Run run = begin("task");
  append(run, "step", "1");
  const int64_t second = append(run, "step", "2");
  append(run, "answer", "a");
  append(run, "step", "3");
  ASSERT_TRUE(store->rewind(run, second, 2));
  append(run, "step", "4");
  EXPECT_EQ(bodies(run), "1 a 4");
  EXPECT_EQ(bodies(run, "step"), "1 4");
  EXPECT_EQ(bodies(run, "step", true), "1 2 3 4");
}

TEST_F(TheStore, ResumesARunWhoseProcessIsGoneAndNoOther) {
  const store::Run own = begin("own");
  EXPECT_EQ(store->resume(own.id).error().code, "run_running");
  ASSERT_TRUE(store->finish(own, RunState::shipped, {}));
  EXPECT_EQ(store->resume(own.id).error().code, "run_finished");
  const fs::path file = store->file();
  store.reset();  // a fork must not inherit an open database
  const pid_t child = ::fork();
  if (child == 0) {
    auto there = RunStore::open(file);
    if (there) (void)there->begin({.task = "killed"});
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  store.emplace(*RunStore::open(file));
  auto killed = store->list();
  ASSERT_TRUE(killed) << killed.error().text();
  EXPECT_EQ(killed->front().state, RunState::killed);
  auto resumed = store->resume(killed->front().id);
  ASSERT_TRUE(resumed) << resumed.error().text();
  EXPECT_EQ(store->list()->front().state, RunState::running);
}

TEST_F(TheStore, IsWrittenByTwoAtOnce) {
  const store::Run first = begin("first");
  auto other = RunStore::open(store->file());
  ASSERT_TRUE(other) << other.error().text();
  auto second = other->begin({.task = "second"});
  ASSERT_TRUE(second) << second.error().text();
  for (int i = 0; i < 20; ++i) {
    append(first, "a", "1");
    ASSERT_TRUE(other->append(*second, {.kind = "b", .body = "2"}, {}));
  }
  EXPECT_EQ(store->events(*second)->size(), 20u);
}

}  // namespace
}  // namespace stitch::store
