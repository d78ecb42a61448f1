// What is remembered: recalled by kind, exported and merged without counting anything twice.
#include "store/memory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "store/database.h"

namespace stitch::store {
namespace {

class TheMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!Database::is_built_in()) GTEST_SKIP() << "built without SQLite";
    auto made = ScratchFolder::create("stitch-memory");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
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
  auto found = memory->recall(Scope::region, "a", "H200", "default", then);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().technique, "x");
  EXPECT_EQ(found->front().before, 0.25);
  EXPECT_FALSE(found->front().after);
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
  auto merged = other.merge(exported);
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_EQ(merged->added, 1);
  EXPECT_EQ(merged->known, 1);
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
}  // namespace stitch::store
