#include "import/active.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stitch {
namespace {

// "2 1": dropouts and batch norms of one node.
std::string active(const std::string& op, const char* args) {
  AtenProgram program;
  program.nodes.push_back({op, std::make_shared<const Json>(*parse_json(args)), {}, "", ""});
  Json counts = count_active(program);
  return counts["dropouts"].dump() + " " + counts["batch_norms"].dump();
}

TEST(ActiveInTraining, Dropouts) {
  EXPECT_EQ(active("aten.dropout.default", R"({"p": 0.1, "train": true})"), "1 0");
  EXPECT_EQ(active("aten.dropout_.default", R"({"p": 0.1, "train": true})"), "1 0");
  EXPECT_EQ(active("aten.feature_dropout.default", R"({"p": 1, "train": true})"), "1 0");
  EXPECT_EQ(active("aten.dropout.default", R"({"p": 0.1, "train": false})"), "0 0");
  EXPECT_EQ(active("aten.dropout.default", R"({"p": 0.0, "train": true})"), "0 0");
  EXPECT_EQ(active("aten.scaled_dot_product_attention.default", R"({"dropout_p": 0.2})"), "1 0");
  EXPECT_EQ(active("aten.scaled_dot_product_attention.default", R"({"dropout_p": 0.0})"), "0 0");
  EXPECT_EQ(active("aten.lstm.input", R"({"dropout": 0.2, "train": true, "num_layers": 2})"), "1 0");
  EXPECT_EQ(active("aten.lstm.input", R"({"dropout": 0.2, "train": true, "num_layers": 1})"), "0 0");
}

TEST(ActiveInTraining, BatchNormsWithRunningStatistics) {
  EXPECT_EQ(active("aten.batch_norm.default", R"({"training": true, "running_mean": {"value": "m"}})"),
            "0 1");
  EXPECT_EQ(active("aten.batch_norm.default", R"({"training": false, "running_mean": {"value": "m"}})"),
            "0 0");
  // Without any, eval mode uses the batch's too.
  EXPECT_EQ(active("aten.batch_norm.default", R"({"training": true, "running_mean": null})"), "0 0");
}

}  // namespace
}  // namespace stitch
