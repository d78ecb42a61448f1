// Stores that are of no use: each has one clear message, and nothing is harmed.
#include <gtest/gtest.h>

#include "base/digest/sha256.h"
#include "store/database.h"
#include "store/memory.h"
#include "store/run_store.h"
#include "store/schema.h"

namespace stitch::store {
namespace {

class ABadStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    auto made = ScratchFolder::create("stitch-store");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
    file = scratch->path() / "runs.db";
  }
  std::string error_of(const Result<RunStore>& opened) {
    if (opened) return "none";
    EXPECT_NE(opened.error().fix, "");
    return opened.error().code + ": " + opened.error().message;
  }
  // A store with some runs, closed.
  void fill(int runs = 50) {
    auto store = RunStore::open(file);
    ASSERT_TRUE(store) << store.error().text();
    for (int i = 0; i < runs; ++i) {
      auto run = store->begin({.task = "task"});
      ASSERT_TRUE(run) << run.error().text();
      ASSERT_TRUE(store->append(*run, {.kind = "a", .body = std::string(1000, 'x')}, {},
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
  auto holder = Database::open(file, Database::Access::write, schema);
  ASSERT_TRUE(holder) << holder.error().text();
  ASSERT_TRUE(holder->execute("BEGIN IMMEDIATE"));
  Schema impatient = schema;
  impatient.patience_ms = 10;
  auto waiting = Database::open(file, Database::Access::write, impatient);
  ASSERT_TRUE(waiting) << waiting.error().text();
  auto written = waiting->transaction([]() -> Result<void> { return {}; });
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
  auto run = store->list();
  ASSERT_TRUE(run) << run.error().text();
  std::string noise;  // that zlib can't make smaller
  for (int i = 0; i < 3000; ++i) noise += sha256(std::to_string(i));
  auto written = store->append(run->front(), {.kind = "a", .body = "1"}, {}, {noise});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "store_full");
  EXPECT_EQ(store->events(run->front())->size(), 1u);  // nothing of it is there
}

TEST_F(ABadStore, ThatIsCutOffOrNoneAtAll) {
  fill();
  auto whole = read_file(file);
  ASSERT_TRUE(whole) << whole.error().text();
  int refused = 0;
  for (size_t length :
       {size_t{1}, size_t{50}, size_t{100}, size_t{5000}, whole->size() / 2, whole->size() - 100}) {
    ASSERT_TRUE(write_file(file, whole->substr(0, length)));
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
  auto store = RunStore::open(file);
  ASSERT_TRUE(store) << store.error().text();
  EXPECT_TRUE(store->begin({.task = "task"}));
}

}  // namespace
}  // namespace stitch::store
