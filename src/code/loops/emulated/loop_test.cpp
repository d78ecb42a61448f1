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
  add("other order", chain, {{"x", {DType::f32, {0, 2, 1}}}, {"a", {DType::f32, {0, 2, 1}}}});
  add("one in other order", chain, {{"x", {DType::f32, {2, 0, 1}}}});
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
      {{"x", {DType::f32, {0, 2, 3, 1}}}, {"u", {DType::f16, {0, 2, 3, 1}}}});
  // Lanes of a vector are channels: they share windows, and parts of what is joined.
  std::string pooled =
      "graph \"g\"\ninput %x : f32[2,16,9,7]\ninput %z : f32[2,24,9,7]\n\n%c = concat(%x, %z) dim=1 : "
      "f32[2,40,9,7]\n%m = max_pool(%c) kernel=[3,3] stride=[2,2] padding=[1,1] dilation=[1,1] : "
      "f32[2,40,5,4]\n"
      "%a = avg_pool(%m) kernel=[2,2] stride=[1,1] padding=[0,0] : f32[2,40,4,3]\n"
      "%r = relu(%c) : f32[2,40,9,7]\n\noutput %r\noutput %a\nend\n";
  plan::Storage last{DType::f32, {0, 2, 3, 1}}, half_last{DType::f16, {0, 2, 3, 1}};
  add("channels last", pooled, {{"x", last}, {"z", last}, {"r", last}, {"a", last}});
  add("channels last in half", pooled,
      {{"x", half_last}, {"z", half_last}, {"r", half_last}, {"a", half_last}});
  // Parts of what is joined, each too small to count alone.
  add("joined to planes",
      "graph \"g\"\ninput %a : f32[2,8,9,31]\ninput %b : f32[2,16,9,31]\ninput %c : f32[2,8,9,31]\ninput %d "
      ": "
      "f32[2,8,9,31]\ninput %e : f32[2,8,9,31]\n\n%y = concat(%a, %b, %c, %d, %e) dim=1 : f32[2,48,9,31]\n\n"
      "output %y\nend\n",
      {{"b", half_last}, {"c", half_last}, {"d", half_last}, {"e", half_last}});
  EXPECT_NE(bench.last().code.source.find("load_vector"), std::string::npos);
  add("joined with itself",
      "graph \"g\"\ninput %a : f32[2,16,9,31]\n\n%y = concat(%a, %a, %a) dim=1 : f32[2,48,9,31]\n\noutput "
      "%y\nend\n",
      {{"a", half_last}, {"y", half_last}});
  // A weight that wouldn't stay in the cache serves all rows, one after the other.
  add("large weights",
      "graph \"g\"\ninput %x : f32[2,3,1,1050001]\nparameter %w : f32[1,1,1050001]\nparameter %b : "
      "f32[1050001]\n\n%m = mul(%x, %w) : f32[2,3,1,1050001]\n%a = add(%m, %b) : f32[2,3,1,1050001]\n\n"
      "output %a\nend\n");
  EXPECT_NE(bench.last().code.source.find("item < 6"), std::string::npos);
  // Short rows read more than once are in registers; a thread with all channels reads them once.
  std::string shares =
      "graph \"g\"\ninput %x : f32[8,{0},10,90,23]\n\n%s = softmax(%x) dim=1 : f32[8,{0},10,90,23]\n%p = "
      "max_pool(%s) kernel=[2,2,1] stride=[2,2,1] padding=[0,0,0] dilation=[1,1,1] : f32[8,{0},5,45,23]\n%q "
      "= "
      "max_pool(%p) kernel=[2,2,1] stride=[2,2,1] padding=[0,0,0] dilation=[1,1,1] : f32[8,{0},2,22,23]\n\n"
      "output %q\nend\n";
  for (const char* channels : {"2", "7", "16"}) {
    std::string text = shares;
    for (size_t i = text.find("{0}"); i != std::string::npos; i = text.find("{0}"))
      text.replace(i, 3, channels);
    add("pools of softmax over channels", text);
    EXPECT_NE(bench.last().code.source.find("x_held"), std::string::npos);
    add("the same from channels last in half", text, {{"x", {DType::f16, {0, 2, 3, 4, 1}}}});
  }
  add("pool, softmax and what is largest",
      "graph \"g\"\ninput %x : f32[3,12,4,6,14]\nparameter %b : f32[12,1,1,1]\n\n%p = max_pool(%x) "
      "kernel=[2,2,2] stride=[2,2,2] padding=[0,0,0] dilation=[1,1,1] : f32[3,12,2,3,7]\n%s = softmax(%p) "
      "dim=1 : f32[3,12,2,3,7]\n%d = sub(%s, %b) : f32[3,12,2,3,7]\n%w = silu(%d) : f32[3,12,2,3,7]\n%m = "
      "amax(%w) dims=[1] : f32[3,2,3,7]\n%l = logsumexp(%d) dims=[1] : f32[3,2,3,7]\n%v = var(%p) dims=[1] : "
      "f32[3,2,3,7]\n\noutput %m\noutput %l\noutput %v\nend\n");
  EXPECT_NE(bench.last().code.source.find("p_held"), std::string::npos);
  add("norm of short rows, in pieces",
      "graph \"g\"\ninput %x : f32[50,3,5]\n\n%n = layer_norm(%x) dims=2 : f32[50,3,5]\n%r = rms_norm(%n) "
      "dims=1 : f32[50,3,5]\n%s = log_softmax(%r) dim=1 : f32[50,3,5]\n\noutput %s\nend\n");
  // One order is read and the other one written, both ways, with an odd number of vectors too.
  std::string crossed =
      "graph \"g\"\ninput %x : f32[3,{0},9,31]\ninput %s : f32[3,{0},9,31]\n\n%y = silu(%x) : "
      "f32[3,{0},9,31]\n"
      "%z = add(%y, %s) : f32[3,{0},9,31]\n\noutput %z\nend\n";
  for (const char* channels : {"32", "24", "12"}) {
    std::string text = crossed;
    for (size_t i = text.find("{0}"); i != std::string::npos; i = text.find("{0}"))
      text.replace(i, 3, channels);
    add("to planes", text, {{"x", half_last}});
    add("to channels last", text, {{"z", half_last}});
    add("to planes in single", text, {{"x", last}});
  }
  bench.run();
}

// Large images from channels last to planes, through tiles: the last one not full, several slices of
// channels.
TEST(LoopDevice, TurnedImages) {
  Bench bench("transposed");
  auto turn = [&](int64_t channels, const std::string& plane, DType dtype, bool transposed) {
    std::vector<int64_t> last = plane.find(',') == std::string::npos ? std::vector<int64_t>{0, 2, 1}
                                                                     : std::vector<int64_t>{0, 2, 3, 1};
    std::string shape = format("f32[2,{},{}]", channels, plane);
    std::string text = format(
        "graph \"g\"\ninput %x : {0}\nparameter %b : f32[{1}{2}]\n\n%s = silu(%x) : {0}\n"
        "%y = add(%s, %b) : {0}\n\noutput %y\nend\n",
        shape, channels, last.size() == 3 ? ",1" : ",1,1");
    auto added = bench.add(shape, graph_of(text), {}, {}, {{"x", {dtype, last}}}, "loop");
    ASSERT_TRUE(added) << added.error().text();
    EXPECT_EQ(bench.last().code.source.find("transposed[") != std::string::npos, transposed) << shape;
  };
  turn(32, "20,17", DType::f16, true);
  turn(64, "16,16", DType::f16, true);
  turn(48, "700", DType::f16, true);
  turn(128, "13,11", DType::f16, true);
  turn(16, "31,19", DType::f32, true);
  turn(48, "31,29", DType::f32, true);
  turn(32, "9,9", DType::f16, false);    // less than a tile
  turn(24, "20,60", DType::f16, false);  // too few contiguous channels
  bench.run();
}

// Windows that overlap, leave gaps, hang over the edges: in one, two and three dimensions.
TEST(LoopDevice, Pools) {
  Bench bench("pools");
  const std::string tile = "__shared__", strip = "take_windows", neither;
  auto pool = [&](const std::string& in, const std::string& out, const std::string& call, bool half = false,
                  const std::string& way = "__shared__") {
    std::string text = format(
        "graph \"g\"\ninput %x : f32[{0}]\ninput %b : f32[{1}]\n\n%s = silu(%x) : f32[{0}]\n%p = {2} : "
        "f32[{1}]\n%y = mul(%p, %b) : f32[{1}]\n\noutput %y\nend\n",
        in, out, call);
    auto graph = parse_graph(text);
    ASSERT_TRUE(graph) << graph.error().text() << "\n" << text;
    Layouts layouts;
    if (half) layouts = {{"x", {DType::f16, {}}}, {"y", {DType::f16, {}}}};
    auto added = bench.add(call + " of " + in, *graph, {}, {}, layouts, "loop");
    ASSERT_TRUE(added) << added.error().text();
    for (const std::string& each : {tile, strip})
      EXPECT_EQ(bench.last().code.source.find(each) != std::string::npos, each == way) << call;
  };
  pool("2,3,61", "2,3,48", "max_pool(%s) kernel=[8] stride=[1] padding=[4] dilation=[3]");
  pool("2,3,1500", "2,3,1501", "avg_pool(%s) kernel=[8] stride=[1] padding=[4]", false, strip);
  // Strips: odd numbers of taps, shifts by more than a warp, rows of one strip and of several.
  pool("2,3,700", "2,3,687", "max_pool(%s) kernel=[8] stride=[1] padding=[4] dilation=[3]", false, strip);
  pool("1,5,300", "1,5,300", "avg_pool(%s) kernel=[7] stride=[1] padding=[3]", true, strip);
  pool("1,3,520", "1,3,475", "max_pool(%s) kernel=[6] stride=[1] padding=[0] dilation=[9]", false, strip);
  pool("3,1,150", "3,1,138", "avg_pool(%s) kernel=[13] stride=[1] padding=[0]", false, strip);
  pool("2,3,23,37", "2,3,22,36", "max_pool(%s) kernel=[4,4] stride=[1,1] padding=[1,1] dilation=[1,1]");
  pool("2,3,23,37", "2,3,22,36", "max_pool(%s) kernel=[4,4] stride=[1,1] padding=[1,1] dilation=[1,1]", true);
  pool("1,2,45,34", "1,2,4,3", "avg_pool(%s) kernel=[11,11] stride=[11,11] padding=[0,0]");
  pool("1,2,12,13,29", "1,2,4,5,14",
       "max_pool(%s) kernel=[3,3,3] stride=[2,2,2] padding=[1,1,1] dilation=[3,3,2]");
  pool("1,2,6,7,19", "1,2,3,4,10", "avg_pool(%s) kernel=[3,3,3] stride=[2,2,2] padding=[1,1,1]");
  pool("1,1,5,1400", "1,1,3,700", "max_pool(%s) kernel=[3,3] stride=[2,2] padding=[1,1] dilation=[1,1]");
  // Small windows apart from each other: a thread each.
  pool("1,2,5,6,19", "1,2,2,3,9", "avg_pool(%s) kernel=[2,2,2] stride=[2,2,2] padding=[0,0,0]", false,
       neither);
  pool("2,3,21,30", "2,3,5,7", "max_pool(%s) kernel=[4,4] stride=[4,4] padding=[0,0] dilation=[1,1]", true,
       neither);
  bench.run();
}

}  // namespace
}  // namespace stitch::code::loops
