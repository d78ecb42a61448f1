#include "graph/mode.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/numerics.h"

namespace stitch {
namespace {

TaskFacts facts(const char* text) { return std::make_shared<const Json>(*parse_json(text)); }

TEST(ModeOfATask, WarnsOfWhatDependsOnTraining) {
  EXPECT_FALSE(mode_warning(nullptr));
  EXPECT_FALSE(mode_warning(facts(R"({"mode": "train", "active": {"dropouts": 0, "batch_norms": 0}})")));
  EXPECT_EQ(
      *mode_warning(facts(R"({"mode": "train", "active": {"dropouts": 3, "batch_norms": 20}})")),
      "the model is in training mode: 3 dropouts are random, 20 batch norms use the batch's statistics; "
      "--eval for inference");
  EXPECT_EQ(*mode_warning(facts(R"({"mode": "train", "active": {"dropouts": 1}})")),
            "the model is in training mode: 1 dropout is random; --eval for inference");
  EXPECT_EQ(*mode_warning(facts(R"({"mode": "eval", "active": {"dropouts": 1, "batch_norms": 0}})")),
            "the model is in eval mode, but 1 dropout is random: its code asks for that");
}

TEST(ModeOfATask, ThatIsNotTheOneAskedFor) {
  EXPECT_TRUE(check_mode(Mode::as_written, nullptr, "this graph"));
  EXPECT_TRUE(check_mode(Mode::eval, facts(R"({"mode": "eval"})"), "this graph"));
  auto other = check_mode(Mode::eval, facts(R"({"mode": "train"})"), "this graph");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "this graph is in train mode, and eval mode is asked for");
  auto unknown = check_mode(Mode::train, nullptr, "this graph");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "this graph has no recorded mode, and train mode is asked for");
}

TEST(ModeOfATask, IsReadFromAFile) {
  auto folder = ScratchFolder::create("stitch-mode");
  ASSERT_TRUE(folder);
  auto none = read_task_facts(folder->path());
  ASSERT_TRUE(none);
  EXPECT_EQ(mode_in(*none), "");
  for (const char* broken : {"{", "[1]"}) {
    ASSERT_TRUE(write_file(folder->path() / "task.json", broken));
    EXPECT_FALSE(read_task_facts(folder->path())) << broken;
  }
  for (const char* text : {R"({"mode": 3})", R"({"mode": "dreaming"})", R"({"active": 7})"}) {
    ASSERT_TRUE(write_file(folder->path() / "task.json", text));
    auto read = read_task_facts(folder->path());
    ASSERT_TRUE(read);
    EXPECT_EQ(mode_in(*read), "");
    EXPECT_FALSE(mode_warning(*read));
  }
}

TEST(Numerics, ClassesByName) {
  for (Numerics numerics : all_numerics) {
    auto parsed = parse_numerics(name(numerics));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, numerics);
  }
  auto unknown = parse_numerics("fast");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "there is no numerics class 'fast'");
  EXPECT_EQ(unknown.error().fix, "one of: strict, default, tf32, half");
}

}  // namespace
}  // namespace stitch
