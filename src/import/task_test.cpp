#include "import/task.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stitch {
namespace {

constexpr const char* scaled = R"(graph "scaled"
parameter %w : f32[4]
input %x : f32[2,4]
%product = mul(%x, %w) : f32[2,4]
output %product
end
)";

class OpenTask : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create("stitch-task");
    ASSERT_TRUE(made);
    scratch.emplace(*std::move(made));
    ASSERT_TRUE(write_file(scratch->path() / "graph.txt", scaled));
    const std::vector<float> numbers = {1, 2, 3, 4};
    ASSERT_TRUE(write_safetensors(scratch->path() / "weights.safetensors",
                                  {{"w", {{DType::f32, {4}, {}}, std::as_bytes(std::span(numbers))}}}));
    ASSERT_TRUE(write_file(scratch->path() / "task.json", R"({"class": "Scaled"})"));
  }
  std::optional<ScratchFolder> scratch;
};

TEST_F(OpenTask, ReadsAFolderWithItsWeightsAndFacts) {
  auto task = open_task(scratch->path(), {});
  ASSERT_TRUE(task) << task.error().text();
  EXPECT_EQ((*task)->graph.nodes.size(), 1u);
  ASSERT_TRUE((*task)->weights);
  EXPECT_TRUE((*task)->weights->find("w"));
  EXPECT_EQ((*task)->facts->at("class"), "Scaled");
  EXPECT_FALSE((*task)->in_python());
}

TEST_F(OpenTask, ReadsTheGraphAloneIfNothingElseIsWanted) {
  ASSERT_TRUE(write_file(scratch->path() / "weights.safetensors", "no weights"));
  auto folder = open_task(scratch->path(), {.weights = false});
  ASSERT_TRUE(folder) << folder.error().text();
  EXPECT_FALSE((*folder)->weights);
  EXPECT_FALSE(open_task(scratch->path(), {}));
  auto file = open_task(scratch->path() / "graph.txt", {});
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ((*file)->graph.nodes.size(), 1u);
}

TEST_F(OpenTask, RefusesAnotherModeThanAGraphWasImportedIn) {
  ASSERT_TRUE(write_file(scratch->path() / "task.json", R"({"mode": "train"})"));
  EXPECT_TRUE(open_task(scratch->path(), {.mode = Mode::train}));
  for (bool weights : {true, false}) {
    auto task = open_task(scratch->path(), {.mode = Mode::eval, .weights = weights});
    ASSERT_FALSE(task);
    EXPECT_EQ(task.error().code, "mode");
  }
}

TEST_F(OpenTask, RefusesWhatOnlyAModelHas) {
  auto task = open_task(scratch->path(), {.model_class = "Net"});
  ASSERT_FALSE(task);
  EXPECT_EQ(task.error().code, "flags");
  auto missing = open_task(scratch->path() / "nowhere.py", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "no_file");
}

}  // namespace
}  // namespace stitch
