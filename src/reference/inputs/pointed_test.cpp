#include "reference/inputs/pointed.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "graph/text.h"

namespace stitch::verifier {
namespace {

const WeightChange* find_change(const std::vector<WeightChange>& changes, std::string_view data) {
  const auto found = std::ranges::find(changes, data, &WeightChange::data);
  return found == changes.end() ? nullptr : &*found;
}

TEST(PointedWeights, MakeAnLstmRemember) {
  auto graph = parse_graph(R"(graph "lstm"
parameter %wi : f32[64,12]
parameter %wh : f32[64,16]
parameter %bi : f32[64]
parameter %bh : f32[64]
input %x : f32[96,3,12]
%zeros = full() shape=[1,3,16] dtype=f32 value=0.0 : f32[1,3,16]
%y, %h, %c = rnn(%x, %zeros, %zeros, %wi, %wh, %bi, %bh) kind="lstm" : f32[96,3,16], f32[1,3,16], f32[1,3,16]
output %y
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const std::vector<WeightChange> changes = pointed_weights(*graph);
  ASSERT_EQ(changes.size(), 3u);
  ASSERT_TRUE(find_change(changes, "wh"));
  EXPECT_LT(find_change(changes, "wh")->scale, 1);
  for (const char* bias : {"bi", "bh"}) {
    const WeightChange* change = find_change(changes, bias);
    ASSERT_TRUE(change) << bias;
    EXPECT_EQ(change->begin, 16);
    EXPECT_EQ(change->end, 32);
    EXPECT_GT(change->add, 2);
  }
}

TEST(PointedWeights, HandAPlainStateOn) {
  auto graph = parse_graph(R"(graph "rnn"
parameter %wi : f32[16,16]
parameter %wh : f32[16,16]
parameter %bi : f32[16]
parameter %bh : f32[16]
input %x : f32[9,3,16]
%zeros = full() shape=[1,3,16] dtype=f32 value=0.0 : f32[1,3,16]
%y, %h = rnn(%x, %zeros, none, %wi, %wh, %bi, %bh) kind="tanh" : f32[9,3,16], f32[1,3,16]
output %y
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const std::vector<WeightChange> changes = pointed_weights(*graph);
  ASSERT_TRUE(find_change(changes, "wh") && find_change(changes, "wi"));
  EXPECT_GT(find_change(changes, "wh")->diagonal, 0.9);
  EXPECT_EQ(find_change(changes, "wi")->diagonal, 0);
  oracle::Tensor state(DType::f32, {2, 2});
  std::ranges::fill_n(state.writable<double>(), 4, 0.0);
  change(state, {.end = 2, .diagonal = 0.5});
  EXPECT_EQ(state.data<double>()[0], 0.5);
  EXPECT_EQ(state.data<double>()[1], 0);
  EXPECT_EQ(state.data<double>()[3], 0.5);
}

TEST(PointedWeights, SingleOutTheLastClass) {
  const auto text = [](std::string_view bias, std::string_view operand) {
    return format(R"(graph "classes"
parameter %w : f32[70,32]
{}input %x : f32[18,32]
%linear = linear(%x, %w{}) : f32[18,70]
%half = mul(%linear, %linear) : f32[18,70]
%y = softmax(%half) dim=1 : f32[18,70]
output %y
end
)",
                  bias, operand);
  };
  auto with = parse_graph(text("parameter %b : f32[70]\n", ", %b")), without = parse_graph(text("", ""));
  ASSERT_TRUE(with && without);
  const std::vector<WeightChange> bias = pointed_weights(*with), rows = pointed_weights(*without);
  ASSERT_EQ(bias.size(), 1u);
  EXPECT_EQ(bias[0].data, "b");
  EXPECT_EQ(bias[0].begin, 69);
  EXPECT_GT(bias[0].add, 88) << "exp overflows";
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].data, "w");
  EXPECT_EQ(rows[0].begin, 69);
  EXPECT_GT(rows[0].scale, 1);
}

TEST(TailWeights, GiveAGeluItsTailAndMakeItCount) {
  auto graph = parse_graph(R"(graph "mlp"
parameter %w : f32[32,16]
parameter %b : f32[32]
parameter %v : f32[8,32]
input %x : f32[4,16]
%a = linear(%x, %w, %b) : f32[4,32]
%g = gelu(%a) : f32[4,32]
%y = linear(%g, %v) : f32[4,8]
output %y
end
)");
  ASSERT_TRUE(graph) << graph.error().text();
  const std::vector<WeightChange> changes = tail_weights(*graph);
  ASSERT_TRUE(find_change(changes, "w") && find_change(changes, "b") && find_change(changes, "v"));
  EXPECT_LT(find_change(changes, "w")->scale, 0.25) << "close together";
  EXPECT_EQ(find_change(changes, "b")->add, tail_of_gelu);
  EXPECT_GT(find_change(changes, "v")->scale, 100);
}

TEST(PointedWeights, AreNotForOthers) {
  auto graph = parse_graph(
      "graph \"g\"\nparameter %w : f32[7,3]\ninput %x : f32[2,3]\n%y = linear(%x, %w) : f32[2,7]\n"
      "output %y\nend\n");
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_TRUE(pointed_weights(*graph).empty());
}

}  // namespace
}  // namespace stitch::verifier
