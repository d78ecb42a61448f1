#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/wording.h"
#include "base/text.h"
#include "graph/text.h"
#include "verify/adequacy/told_apart.h"
#include "verify/verify.h"

namespace stitch::verifier {
namespace {

using oracle::Tensor;

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) throw Bug(graph.error().text());
  return *graph;
}

Graph activated() {
  return parsed(R"(graph "activated"
input %x : f32[2,3]
parameter %w : f32[3,3]
parameter %b : f32[3]
%linear = linear(%x, %w, %b) : f32[2,3]
%gelu = gelu(%linear) : f32[2,3]
%positive = gt(%gelu, %x) : bool[2,3]
output %gelu
output %positive
end
)");
}

std::vector<std::string> words_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const GraphMutant& mutant : mutants_of(graph)) out.push_back(mutant.where + ' ' + mutant.what);
  return out;
}

const GraphMutant& find(const std::vector<GraphMutant>& mutants, std::string_view where,
                        std::string_view what) {
  const auto found = std::ranges::find_if(mutants, [&](const GraphMutant& mutant) {
    return mutant.where.starts_with(where) && mutant.what == what;
  });
  if (found == mutants.end()) throw Bug("there is no such mutant");
  return *found;
}

TEST(GraphMutants, AreNamedAfterWhatIsWrong) {
  const std::vector<std::string> words = words_of(activated());
  for (std::string_view wanted :
       {"input 'x' ignored", "input 'x' as it was once", "parameter 'w' as the task has it",
        "parameter 'w' as the identity", "parameter 'b' by its mean", "linear 'linear' without its bias",
        "linear 'linear' without the last column", "gelu 'gelu' left out",
        "gelu 'gelu' with approximate \"tanh\" for \"none\"", "gt 'positive' as >="})
    EXPECT_TRUE(std::ranges::find(words, wanted) != words.end()) << wanted;
}

TEST(GraphMutants, MoveEpsilonsByAFactorOfTenAndTakeBoundsAway) {
  const std::vector<std::string> words = words_of(parsed(R"(graph "g"
input %x : f32[4,8]
%norm = layer_norm(%x) : f32[4,8]
%clamp = clamp(%norm) low=-1.0 : f32[4,8]
%softmax = softmax(%clamp) dim=1 : f32[4,8]
output %softmax
end
)"));
  for (std::string_view wanted :
       {"layer_norm 'norm' with eps 0.0001 for 1e-05", "layer_norm 'norm' with eps 1e-06 for 1e-05",
        "layer_norm 'norm' with the unbiased variance", "clamp 'clamp' with low -inf for -1",
        "softmax 'softmax' with dim 0 for 1", "softmax 'softmax' without the last element"})
    EXPECT_TRUE(std::ranges::find(words, wanted) != words.end()) << wanted;
}

TEST(GraphMutants, DecideBranchesAndTakeOneSampleForAll) {
  const std::vector<std::string> words = words_of(parsed(R"(graph "g"
input %x : f32[4,8]
input %kept : bool[4,8]
%zero = full() shape=[] dtype=f32 value=0.0 : f32[]
%positive = gt(%x, %zero) : bool[4,8]
%both = logical_and(%positive, %kept) : bool[4,8]
%y = where(%both, %x, %zero) : f32[4,8]
%first = argmax(%y) dims=[1] : i64[4]
output %first
end
)"));
  for (std::string_view wanted :
       {"input 'x' with its first sample for all", "input 'kept' as true", "input 'kept' as false",
        "gt 'positive' always", "logical_and 'both' never", "argmax 'first' with the last of equals"})
    EXPECT_TRUE(std::ranges::find(words, wanted) != words.end()) << wanted;
}

TEST(GraphMutants, AreNoneWhereNothingCanDiffer) {
  const std::vector<std::string> words = words_of(parsed(R"(graph "g"
input %x : f32[2,1,8,8]
parameter %w : f32[3,1,1,1]
%conv = conv(%x, %w) stride=[1,1] padding=[0,0] dilation=[1,1] : f32[2,3,8,8]
%relu = relu(%conv) : f32[2,3,8,8]
%pool = max_pool(%relu) kernel=[2,2] stride=[2,2] padding=[0,0] dilation=[1,1] : f32[2,3,4,4]
%sum = sum(%pool) dims=[3] : f32[2,3,4]
%exp = exp(%pool) : f32[2,3,4,4]
%largest = amax(%exp) dims=[-1] : f32[2,3,4]
output %sum
output %largest
end
)"));
  auto are = [&](std::string_view part) {
    return std::ranges::any_of(words, [&](const std::string& one) { return one.find(part) != one.npos; });
  };
  EXPECT_TRUE(are("conv 'conv' with stride")) << "with the padding that leaves as many results";
  EXPECT_TRUE(are("relu 'relu' left out"));
  EXPECT_FALSE(are("max_pool 'pool' from zero on")) << "of what is not below it";
  EXPECT_FALSE(are("amax 'largest' of absolute values"));
  EXPECT_FALSE(are("sum 'sum' of absolute values"));
  EXPECT_FALSE(are("conv 'conv' without the last channel")) << "of one";
  EXPECT_FALSE(are("conv 'conv' with dilation")) << "of one element";
}

TEST(GraphMutants, HaveNeighboursOfSlicesSortsAndAttention) {
  const std::vector<std::string> words = words_of(parsed(R"(graph "g"
input %x : f32[2,4,8]
%first = slice(%x) dim=2 start=0 end=4 : f32[2,4,4]
%even = slice(%x) dim=2 start=0 end=8 step=2 : f32[2,4,4]
%turned = sub(%first, %even) : f32[2,4,4]
%joined = concat(%turned, %first) dim=2 : f32[2,4,8]
%mixed = attention(%joined, %x, %x) scale=0.5 : f32[2,4,8]
output %mixed
end
)"));
  for (std::string_view wanted :
       {"slice 'first' of every second element for a half", "slice 'even' of a half for every second element",
        "sub 'turned' with its first operands exchanged", "concat 'joined' with its first operands exchanged",
        "attention 'mixed' without the maximum", "attention 'mixed' without the last key"})
    EXPECT_TRUE(std::ranges::find(words, wanted) != words.end()) << wanted << "\n" << join(words, "\n");
}

TEST(GraphMutants, TakeTheLastOfEqualsForTheFirst) {
  const Graph graph = parsed(R"(graph "g"
input %x : f32[2,4]
%at = argmax(%x) dims=[1] : i64[2]
output %at
end
)");
  const Tensor x = Tensor::of(DType::f32, {2, 4}, {1, 7, 7, 0, 5, 2, 3, 5}),
               first = Tensor::of(DType::i64, {2}, {1, 0});
  const Tensor* operand = &x;
  const std::vector<GraphMutant> mutants = mutants_of(graph);
  auto last = find(mutants, "argmax", "with the last of equals")
                  .instead({graph, graph.node(0), {&operand, 1}, {&first, 1}});
  ASSERT_TRUE(last);
  EXPECT_EQ((*last)[0].data<int64_t>()[0], 2);
  EXPECT_EQ((*last)[0].data<int64_t>()[1], 3);
}

class ToldApart : public testing::Test {
 protected:
  ToldApart() : graph(activated()), mutants(mutants_of(graph)) {
    known.emplace(graph.find("x"), Tensor::of(DType::f32, {2, 3}, {1, 2, 3, -4, 5, 6}));
    known.emplace(graph.find("w"), Tensor::of(DType::f32, {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
    known.emplace(graph.find("b"), Tensor::of(DType::f32, {3}, {0, 0, 0}));
  }
  oracle::Known changed(std::string_view where, std::string_view what, const oracle::Known& first = {}) {
    auto recorded = Recorded::of(graph, known, {0, 1, 2});
    if (!recorded) throw Bug(recorded.error().text());
    auto out = recorded->changed_by(find(mutants, where, what), first);
    if (!out) throw Bug(out.error().text());
    return *out;
  }
  Graph graph;
  std::vector<GraphMutant> mutants;
  oracle::Known known;
};

TEST_F(ToldApart, OnlyWhatDependsOnAMutantIsComputedAgain) {
  const oracle::Known gelu = changed("gelu", "with approximate \"tanh\" for \"none\"");
  EXPECT_TRUE(gelu.contains(graph.find("gelu")));
  EXPECT_FALSE(gelu.contains(graph.find("linear")));
  EXPECT_FALSE(gelu.contains(graph.find("positive"))) << "the same on either side";
}

TEST_F(ToldApart, NothingDiffersWhereAMutantIsTheTruth) {
  EXPECT_TRUE(changed("linear", "without its bias").empty()) << "the bias is zero";
  EXPECT_TRUE(changed("parameter 'w'", "as the identity").empty());
  EXPECT_TRUE(changed("input 'x'", "as it was once", known).empty());
  const oracle::Known other = {{graph.find("x"), Tensor::of(DType::f32, {2, 3}, {0, 0, 0, 0, 0, 0})}};
  EXPECT_TRUE(changed("input 'x'", "as it was once", other).contains(graph.find("gelu")));
}

Json adequacy_of(const std::string& task, double work) {
  auto opened =
      open_task_to_judge(fs::path(STITCH_SOURCE_DIR) / "src/verify/testdata/tasks" / task / "graph", {});
  if (!opened) throw Bug(opened.error().text());
  const VerifyOptions options{.seed = 3};
  auto verifier = Verifier::open(*std::move(opened), options);
  if (!verifier) throw Bug(verifier.error().text());
  auto evidence = (*verifier)->adequacy(options, work);
  if (!evidence) throw Bug(evidence.error().text());
  return *evidence;
}

TEST(Adequacy, NamesWhatNoQuestionTellsApart) {
  const Json evidence = adequacy_of("norm_gelu", 1e10);
  EXPECT_EQ(evidence["not_asked"], 0);
  EXPECT_GT(evidence["mutants"], 15);
  EXPECT_EQ(evidence["told_apart"].get<size_t>() + evidence["unproven"].size(),
            evidence["mutants"].get<size_t>());
  EXPECT_GE(evidence["told_apart"].get<double>(), 0.9 * evidence["mutants"].get<double>())
      << evidence.dump(1);
}

TEST(Adequacy, KnowsABranchThatNoQuestionTakes) {
  auto untested = [](const std::string& task) { return word(adequacy_of(task, 1e9), "untested"); };
  EXPECT_NE(untested("far_branch").find("lies behind a branch that no question took"), std::string::npos);
  for (const char* task : {"cross_entropy", "clamped", "batch_norm", "masked_attention"})
    EXPECT_EQ(untested(task), "") << task;
}

TEST(Adequacy, WhatItsWorkDoesNotAllowIsNotAsked) {
  const Json evidence = adequacy_of("norm_gelu", 1);
  EXPECT_EQ(evidence["not_asked"], evidence["mutants"]);
  EXPECT_EQ(evidence["told_apart"], 0);
  EXPECT_NE(adequacy_text(evidence).find("not asked"), std::string::npos);
}

}  // namespace
}  // namespace stitch::verifier
