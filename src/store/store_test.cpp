// Runs in and out of a store: what is listed, what is found, what a rewind hides, what remove leaves.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/digest/sha256.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "store/database.h"
#include "store/memory.h"
#include "store/run_store.h"
#include "store/schema.h"

namespace stitch::store {

namespace {

class TheStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    scratch.emplace(must(ScratchFolder::create("stitch-store")));
    store.emplace(must(RunStore::open(scratch->path() / "deep" / "runs.db")));
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
  auto runs = must(store->list());
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].start.task, "second");
  EXPECT_EQ(runs[0].state, RunState::failed);
  EXPECT_EQ(runs[1].state, RunState::running);  // this process is alive
  EXPECT_EQ(runs[1].summary.attempts, 7);
  EXPECT_EQ(runs[1].summary.kept, 3);
  EXPECT_EQ(runs[1].summary.seconds_a_call, 0.5);
  EXPECT_TRUE(runs[1].summary.measured);
  EXPECT_NE(first.origin, second.origin);
}

TEST_F(TheStore, FindsARunByABeginningThatOnlyItHas) {
  const store::Run first = begin("first"), second = begin("second");
  auto found = must(store->find(second.id));
  EXPECT_EQ(found.number, second.number);
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
  auto resumed = must(store->resume(killed->front().id));
  EXPECT_EQ(store->list()->front().state, RunState::running);
}

TEST_F(TheStore, IsWrittenByTwoAtOnce) {
  const store::Run first = begin("first");
  auto other = must(RunStore::open(store->file()));
  auto second = must(other.begin({.task = "second"}));
  for (int i = 0; i < 20; ++i) {
    append(first, "a", "1");
    ASSERT_TRUE(other.append(second, {.kind = "b", .body = "2"}, {}));
  }
  EXPECT_EQ(store->events(second)->size(), 20u);
}

}  // namespace

// What is remembered: recalled by kind, exported and merged without counting anything twice.

namespace {

class TheMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    scratch.emplace(must(ScratchFolder::create("stitch-memory")));
    store.emplace(*RunStore::open(scratch->path() / "runs.db"));
    memory.emplace(*store);
  }
  static Observation one(int64_t number, std::string signature, std::string technique) {
    return {.origin = "abc",
            .number = number,
            .scope = Scope::region,
            .signature = std::move(signature),
            .machine = "H200",
            .numerics = "default",
            .version = "1",
            .technique = std::move(technique),
            .knobs = "{}",
            .outcome = "wrong",
            .why = "a \"reason\"\n",
            .predicted_gain = 1e-6,
            .before = 0.25,
            .after = {},
            .tries = 2,
            .among = 3,
            .when = "2026-11-16T00:00:00Z",
            .document = {}};
  }
  static std::string lines(const Memory& memory) {
    std::string out;
    EXPECT_TRUE(memory.write_lines([&](std::string_view line) { out += std::string(line) + "\n"; }));
    return out;
  }

  std::optional<ScratchFolder> scratch;
  std::optional<RunStore> store;
  std::optional<Memory> memory;
};

TEST_F(TheMemory, RecallsAKindUpToAMoment) {
  Observation program = one(3, "graph", "");
  program.scope = Scope::program;
  program.document = "{\"plan\": 1}";
  ASSERT_TRUE(memory->remember({one(1, "a", "x"), one(2, "b", "y"), program}));
  const int64_t then = *memory->last();
  ASSERT_TRUE(memory->remember({one(4, "a", "z")}));
  auto found = must(memory->recall(Scope::region, "a", "H200", "default", then));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().technique, "x");
  EXPECT_EQ(found.front().before, 0.25);
  EXPECT_FALSE(found.front().after);
  EXPECT_EQ(memory->recall(Scope::region, "a", "H200", "default", *memory->last())->size(), 2u);
  EXPECT_EQ(memory->recall(Scope::region, "a", "A100", "default", then)->size(), 0u);
  EXPECT_EQ(memory->recall(Scope::program, "graph", "H200", "default", then)->front().document,
            "{\"plan\": 1}");
}

TEST_F(TheMemory, IsExportedAndMergedOnce) {
  Observation program = one(3, "graph", "");
  program.document = std::string(1000, 'p');
  ASSERT_TRUE(memory->remember({one(1, "a", "x"), program}));
  const std::string exported = lines(*memory);
  auto other_store = RunStore::open(scratch->path() / "other.db");
  Memory other(*other_store);
  ASSERT_TRUE(other.remember({one(1, "a", "x")}));
  auto merged = must(other.merge(exported));
  EXPECT_EQ(merged.added, 1);
  EXPECT_EQ(merged.known, 1);
  EXPECT_EQ(other.merge(exported)->added, 0);
  EXPECT_EQ(lines(other), exported);
}

TEST_F(TheMemory, MergesAllLinesOrNone) {
  const std::string good = to_json(one(1, "a", "x")).dump();
  auto merged = memory->merge(good + "\n\n{\"origin\": 7}\n");
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().where, "line 3");
  EXPECT_EQ(merged.error().message, "not an observation: 'origin' is missing or has another type");
  EXPECT_EQ(memory->all()->size(), 0u);
  EXPECT_EQ(memory->merge("half {").error().where, "line 1");
  EXPECT_EQ(memory->merge("[]").error().message, "not an observation: expected an object");
}

TEST_F(TheMemory, ForgetsOneKindOrAll) {
  Observation program = one(3, "graph", "");
  program.document = std::string(1000, 'p');
  ASSERT_TRUE(memory->remember({one(1, "a", "x"), one(2, "b", "y"), program}));
  EXPECT_EQ(*memory->forget("a"), 1);
  EXPECT_EQ(*memory->forget(), 2);
  EXPECT_EQ(store->blob(blob_hash(program.document)).error().code, "store_damaged");
}

}  // namespace

// Stores that are of no use: each has one clear message, and nothing is harmed.

namespace {

class ABadStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    scratch.emplace(must(ScratchFolder::create("stitch-store")));
    file = scratch->path() / "runs.db";
  }
  std::string error_of(const Result<RunStore>& opened) {
    if (opened) return "none";
    EXPECT_NE(opened.error().fix, "");
    return opened.error().code + ": " + opened.error().message;
  }
  // A store with some runs, closed.
  void fill(int runs = 50) {
    auto store = must(RunStore::open(file));
    for (int i = 0; i < runs; ++i) {
      auto run = must(store.begin({.task = "task"}));
      ASSERT_TRUE(store.append(run, {.kind = "a", .body = std::string(1000, 'x')}, {},
                               {format("source {} {}", i, std::string(100, 'y'))}));
    }
  }

  std::optional<ScratchFolder> scratch;
  fs::path file;
};

TEST_F(ABadStore, OfANewerVersion) {
  Schema newer = schema;
  newer.version = 99;
  ASSERT_TRUE(Database::open(file, Database::Access::write, newer));
  const auto before = sha256_of_file(file);
  EXPECT_EQ(error_of(RunStore::open(file)),
            "store_newer: the database was written by a newer stitchcuda (format 99; this one knows 1)");
  EXPECT_EQ(*sha256_of_file(file), *before);
}

TEST_F(ABadStore, OfAnotherProgram) {
  Schema other = schema;
  other.application = 7;
  ASSERT_TRUE(Database::open(file, Database::Access::write, other));
  EXPECT_EQ(error_of(RunStore::open(file)), "store_foreign: this file is another program's database");
  // One that never said whose it is.
  Schema nameless{.application = 0, .version = 0, .tables = "CREATE TABLE theirs (x)"};
  const fs::path second = scratch->path() / "theirs.db";
  ASSERT_TRUE(Database::open(second, Database::Access::write, nameless));
  EXPECT_EQ(error_of(RunStore::open(second)), "store_foreign: this file is another program's database");
}

TEST_F(ABadStore, ThatIsAFolder) {
  EXPECT_EQ(error_of(RunStore::open(scratch->path())),
            "store_foreign: the database must be a file, and this is a folder");
}

TEST_F(ABadStore, ThatIsNotThere) {
  EXPECT_EQ(error_of(RunStore::open(file, RunStore::Access::read)),
            "store_absent: no database of runs here yet");
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(ABadStore, ThatIsLocked) {
  fill(1);
  auto holder = must(Database::open(file, Database::Access::write, schema));
  ASSERT_TRUE(holder.execute("BEGIN IMMEDIATE"));
  Schema impatient = schema;
  impatient.patience_ms = 10;
  auto waiting = must(Database::open(file, Database::Access::write, impatient));
  auto written = waiting.transaction([]() -> Result<void> { return {}; });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "store_locked");
  EXPECT_EQ(written.error().message, "another process has locked the database");
}

TEST_F(ABadStore, ThatCannotBeWritten) {
  const auto opened = RunStore::open("/proc/no/runs.db");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "store_read_only");
  EXPECT_EQ(RunStore::open("/proc/runs.db").error().code, "store_read_only");
  // Without rights, which root always has.
  fill(1);
  auto reader = Database::open(file, Database::Access::write, schema);
  ASSERT_TRUE(reader && reader->execute("PRAGMA query_only = ON"));
  EXPECT_EQ(reader->execute("DELETE FROM runs").error().code, "store_read_only");
}

TEST_F(ABadStore, ThatIsFull) {
  fill(1);
  auto store = RunStore::open(file);
  ASSERT_TRUE(store && store->database().execute("PRAGMA max_page_count = 1"));
  auto run = must(store->list());
  std::string noise;  // that zlib can't make smaller
  for (int i = 0; i < 3000; ++i) noise += sha256(std::to_string(i));
  auto written = store->append(run.front(), {.kind = "a", .body = "1"}, {}, {noise});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "store_full");
  EXPECT_EQ(store->events(run.front())->size(), 1u);  // nothing of it is there
}

TEST_F(ABadStore, ThatIsCutOffOrNoneAtAll) {
  fill();
  auto whole = must(read_file(file));
  int refused = 0;
  for (size_t length :
       {size_t{1}, size_t{50}, size_t{100}, size_t{5000}, whole.size() / 2, whole.size() - 100}) {
    ASSERT_TRUE(write_file(file, whole.substr(0, length)));
    auto store = RunStore::open(file);
    auto runs = store ? store->list() : Result<std::vector<store::Run>>(store.error());
    for (size_t i = 0; runs && i < runs->size(); ++i) {
      auto events = store->events((*runs)[i]);
      if (!events) runs = events.error();
    }
    if (runs) continue;
    ++refused;
    EXPECT_EQ(runs.error().code, "store_damaged") << length << ": " << runs.error().text();
  }
  EXPECT_GE(refused, 4);
  ASSERT_TRUE(write_file(
      file, "this is a letter to a friend, and no database of any kind at all; " + std::string(2000, '.')));
  EXPECT_EQ(RunStore::open(file).error().code, "store_damaged");
}

TEST_F(ABadStore, AnEmptyFileIsANewStore) {
  ASSERT_TRUE(write_file(file, ""));
  auto store = must(RunStore::open(file));
  EXPECT_TRUE(store.begin({.task = "task"}));
}

}  // namespace

}  // namespace stitch::store
