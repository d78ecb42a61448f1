// Each pass on a small graph: testdata/NAME.before.txt in, NAME.after.txt out.
#include <gtest/gtest.h>

#include <random>

#include "base/file.h"
#include "graph/text.h"
#include "oracle/interpreter.h"
#include "passes/pipeline.h"
#include "passes/testdata/sample_limits.h"

namespace stitch {
namespace {

struct Golden {
  const char* name;
  Rewrite pass;
};

void PrintTo(const Golden& one, std::ostream* out) { *out << one.name; }

class GoldenPass : public testing::TestWithParam<Golden> {};

TEST_P(GoldenPass, TurnsBeforeIntoAfter) {
  fs::path stem = fs::path(STITCH_SOURCE_DIR "/src/passes/testdata") / GetParam().name;
  auto before = read_file(stem.string() + ".before.txt"), after = read_file(stem.string() + ".after.txt");
  ASSERT_TRUE(before && after);
  auto graph = parse_graph(*before);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(apply(GetParam().pass, *graph, sample_limits));
  EXPECT_TRUE(verify(*graph));
  EXPECT_EQ(print_graph(*graph), *after);
  EXPECT_FALSE(apply(GetParam().pass, *graph, sample_limits)) << "a second run finds something to do";
  EXPECT_EQ(print_graph(*graph), *after);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenPass,
    testing::Values(
        Golden{"dead_code", remove_dead_code}, Golden{"fold_constants", fold_constants},
        Golden{"attention", recognize_attention}, Golden{"pairwise_einsums", pair_einsums},
        Golden{"common_subexpressions", share_common_subexpressions},
        Golden{"canonical_views", canonicalize_views}, Golden{"unrolled_recurrences", roll_recurrences},
        Golden{"unrolled_recurrences_batch_first", roll_recurrences},
        Golden{"stacked_steps", compute_stacked_steps_at_once},
        Golden{"single_reductions", drop_single_reductions},
        Golden{"pooled_products", pool_weights_of_products},
        Golden{"pooled_convolutions", pool_before_convolutions},
        Golden{"folded_batch_norms", fold_batch_norms}, Golden{"gelu", recognize_gelu},
        Golden{"patch_convolutions", multiply_patches}, Golden{"whole_products", spread_rows_first},
        Golden{"plain_masks", drop_plain_masks}, Golden{"wide_attention", multiply_wide_heads},
        Golden{"sliced_products", multiply_slices}, Golden{"repeated_rows", multiply_repeated_rows_once},
        Golden{"merged_products", merge_products}, Golden{"rows_in_order", order_rows_for_products},
        Golden{"transposed_biases", set_biases_apart}, Golden{"slices_first", move_slices_first},
        Golden{"own_views", give_own_views}, Golden{"shared_images", copy_shared_images},
        Golden{"sunken_permutes", sink_permutes}, Golden{"joined_convolutions", join_convolutions},
        Golden{"scaled_products", scale_weights_of_products}, Golden{"window_products", multiply_windows}),
    [](const auto& info) { return info.param.name; });

class PassOnNumbers : public testing::TestWithParam<Golden> {};

TEST_P(PassOnNumbers, MeansTheSameAsBefore) {
  auto text = read_file(format("{}/src/passes/testdata/{}.before.txt", STITCH_SOURCE_DIR, GetParam().name));
  ASSERT_TRUE(text);
  auto before = parse_graph(*text), after = parse_graph(*text);
  ASSERT_TRUE(before && apply(GetParam().pass, *after, sample_limits));
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  oracle::Known known, known_after;
  for (ValueId id : before->leaves()) {
    const Value& value = (*before)[id];
    std::vector<double> numbers(static_cast<size_t>(value.type.elements()));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = value.name == "tril" ? (i % 6 <= i / 6 ? 1 : 0) : normal(generator);
    oracle::Tensor tensor = oracle::Tensor::of(value.type.dtype, value.type.shape, numbers);
    known.emplace(id, tensor);
    known_after.emplace(after->find(value.name), tensor);
  }
  auto expected = oracle::evaluate(*before, known, before->outputs),
       got = oracle::evaluate(*after, known_after, after->outputs);
  ASSERT_TRUE(expected && got);
  for (size_t o = 0; o < expected->size(); ++o)
    for (int64_t i = 0; i < (*expected)[o].elements(); ++i)
      EXPECT_NEAR((*expected)[o].data<double>()[i], (*got)[o].data<double>()[i], 1e-12) << "output " << o;
}

INSTANTIATE_TEST_SUITE_P(
    All, PassOnNumbers,
    testing::Values(
        Golden{"attention", recognize_attention}, Golden{"gelu", recognize_gelu},
        Golden{"patch_convolutions", multiply_patches}, Golden{"whole_products", spread_rows_first},
        Golden{"plain_masks", drop_plain_masks}, Golden{"wide_attention", multiply_wide_heads},
        Golden{"sliced_products", multiply_slices}, Golden{"repeated_rows", multiply_repeated_rows_once},
        Golden{"merged_products", merge_products}, Golden{"rows_in_order", order_rows_for_products},
        Golden{"sunken_permutes", sink_permutes}, Golden{"joined_convolutions", join_convolutions},
        Golden{"window_products", multiply_windows}),
    [](const auto& info) { return info.param.name; });

Graph tiny() {
  return *parse_graph(
      "graph \"g\"\ninput %x : f32[2]\n%a = relu(%x) : f32[2]\n%b = exp(%x) : f32[2]\noutput %a\nend\n");
}

bool break_it(Graph& graph) {
  graph.values[1].type.shape = {3};
  return true;
}

TEST(Pipeline, ReportsSkipsAndShowsChanges) {
  Graph graph = tiny();
  std::vector<std::string> shown;
  PassOptions options;
  options.skip = {"constant-folding"};
  options.on_change = [&](const Pass& pass, const Graph& before, const Graph& after) {
    shown.push_back(format("{} {}->{}", pass.name, before.nodes.size(), after.nodes.size()));
  };
  PassReport report = run_pipeline(graph, cleanup_pipeline(), options);
  EXPECT_EQ(report.size(), cleanup_pipeline().size() - 1);
  EXPECT_EQ(shown, std::vector<std::string>{"canonical-views 2->1"});
  EXPECT_EQ(report[0].nodes_before, 2u);
  EXPECT_EQ(report[0].nodes_after, 1u);
}

TEST(Pipeline, AlgebraCanBeLeftOut) {
  const PassNames algebra = algebraic_passes();
  EXPECT_TRUE(algebra.contains("algebra-folded-batch-norms") && !algebra.contains("dead-code"));
  Graph graph = tiny();
  EXPECT_EQ(run_pipeline(graph, cleanup_pipeline(), {.skip = algebra}).size(),
            cleanup_pipeline().size() - algebra.size());
}

TEST(Pipeline, NamesThePassThatBreaksTheGraph) {
  Graph graph = tiny();
  constexpr Pass broken[] = {{"breaker", "to be caught", break_it}};
  try {
    run_pipeline(graph, broken);
    FAIL() << "an invalid graph went unnoticed";
  } catch (const Bug& bug) {
    EXPECT_NE(std::string(bug.what()).find("the pass breaker left an invalid graph: %a"), std::string::npos)
        << bug.what();
  }
}

}  // namespace
}  // namespace stitch
