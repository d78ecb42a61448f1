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
  // Indices that count down must not be divided as they are.
  add("flipped, padded, split and rolled",
      "graph \"g\"\ninput %x : f32[7,10]\n\n%f = flip(%x) dims=[0,1] : f32[7,10]\n"
      "%p = pad(%f) pads=[1,2,3,1] mode=\"reflect\" : f32[10,14]\n%r = reshape(%p) shape=[4,5,7] : "
      "f32[4,5,7]\n"
      "%g = flip(%r) dims=[1,2] : f32[4,5,7]\n%o = roll(%g) shifts=[3] dims=[2] : f32[4,5,7]\n"
      "%q = reshape(%o) shape=[28,5] : f32[28,5]\n\noutput %q\nend\n");
  add("windows of what is padded and joined",
      "graph \"g\"\ninput %x : f32[2,3,9,9]\ninput %z : f32[2,2,9,9]\n\n%c = concat(%x, %z) dim=1 : "
      "f32[2,5,9,9]\n"
      "%m = max_pool(%c) kernel=[3,3] stride=[2,2] padding=[1,1] dilation=[2,1] : f32[2,5,4,5]\n"
      "%u = resize(%m) size=[8,11] mode=\"linear\" : f32[2,5,8,11]\n\noutput %u\nend\n",
      {{"x", {std::nullopt, {0, 2, 3, 1}}}, {"u", {DType::f16, {0, 2, 3, 1}}}});
  bench.run();
}

}  // namespace
}  // namespace stitch::code::loops
