#include "code/loops/emulated/bench.h"

namespace stitch::code::loops {
namespace {

Graph graph_of(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().text() << "\n" << text;
  return graph ? *graph : Graph{};
}

TEST(LoopDevice, Chains) {
  Bench bench("chains");
  auto add = [&](const char* label, const std::string& text, const Layouts& layouts = {}) {
    auto added = bench.add(label, graph_of(text), {}, {}, layouts);
    EXPECT_TRUE(added) << label << ": " << added.error().text();
  };
  std::string chain =
      "graph \"g\"\ninput %x : f32[8,33,100]\ninput %r : f32[8,33,100]\nparameter %s : f32[33,1]\n\n"
      "%m = mul(%x, %s) : f32[8,33,100]\n%g = gelu(%m) : f32[8,33,100]\n%a = add(%g, %r) : f32[8,33,100]\n\n"
      "output %a\nend\n";
  add("gated residual", chain);
  add("half storage", chain, {{"x", {DType::f16, {}}}, {"a", {DType::bf16, {}}}});
  add("other order", chain, {{"x", {std::nullopt, {0, 2, 1}}}, {"a", {std::nullopt, {0, 2, 1}}}});
  add("one in other order", chain, {{"x", {std::nullopt, {2, 0, 1}}}});
  add("odd total", "graph \"g\"\ninput %x : f32[3,1365]\n\n%y = silu(%x) : f32[3,1365]\n\noutput %y\nend\n");
  bench.run();
}

}  // namespace
}  // namespace stitch::code::loops
