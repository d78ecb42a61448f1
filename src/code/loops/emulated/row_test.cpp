// Reductions and norms over rows of odd sizes: lanes, blocks, columns and parts; held in registers and not.
#include "code/loops/emulated/bench.h"

namespace stitch::code::loops {
namespace {

Graph graph_of(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().text() << "\n" << text;
  return graph ? *graph : Graph{};
}

std::string one(const std::string& x, const std::string& call, const std::string& y) {
  return format("graph \"g\"\ninput %x : {}\n\n%y = {} : {}\n\noutput %y\nend\n", x, call, y);
}

// {0}, {1} and so on replaced: for texts that std::format would have to check beforehand.
std::string format_of(std::string text, const std::vector<std::string>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string mark = format("{{{}}}", i);
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), values[i]);
  }
  return text;
}

struct Suite {
  Bench bench;
  explicit Suite(std::string name) : bench(std::move(name)) {}
  void add(const std::string& label, const std::string& text, const Layouts& layouts = {},
           std::string_view technique = "row", std::map<std::string, int64_t> settings = {}) {
    auto added = bench.add(label, graph_of(text), {}, {}, layouts, technique, std::move(settings));
    EXPECT_TRUE(added) << label << ": " << added.error().text();
  }
  // Every reduction over `dims` of x.
  void reductions(const std::string& shape, const std::string& dims, const std::string& result,
                  const std::vector<int64_t>& order = {}) {
    auto stored = [&](DType dtype) { return Layouts{{"x", {dtype, order}}}; };
    std::string x = "f32[" + shape + "]", y = "f32[" + result + "]";
    for (const char* op : {"sum", "mean", "prod", "amax", "amin", "logsumexp", "norm", "var"})
      add(format("{} of {} over {}", op, shape, dims), one(x, format("{}(%x) dims=[{}]", op, dims), y),
          stored(DType::f32));
    if (dims.find(',') == std::string::npos)
      for (const char* op : {"argmax", "argmin"})
        add(format("{} of {} over {}", op, shape, dims),
            one(x, format("{}(%x) dims=[{}]", op, dims), "i64[" + result + "]"), stored(DType::f32));
    add(format("any of {}", shape),
        one("bool[" + shape + "]", format("any(%x) dims=[{}]", dims), "bool[" + result + "]"),
        stored(DType::boolean));
    add(format("sum of i32 {}", shape),
        one("i32[" + shape + "]", format("sum(%x) dims=[{}]", dims), "i32[" + result + "]"),
        stored(DType::i32));
    add(format("mean of f64 {}", shape),
        one("f64[" + shape + "]", format("mean(%x) dims=[{}]", dims), "f64[" + result + "]"),
        stored(DType::f64));
  }
};

TEST(RowDevice, Reductions) {
  Suite suite("reductions");
  suite.reductions("37,19", "1", "37");
  suite.reductions("5,300", "1", "5");
  suite.reductions("3,2053", "1", "3");
  suite.reductions("2,33024", "1", "2");
  suite.reductions("3,50,37", "1", "3,37");
  suite.reductions("3,20,37", "1", "3,37");
  suite.reductions("2,2000,33", "1", "2,33");
  suite.reductions("3,6,5,8", "0,2,3", "6");
  suite.reductions("3,6,5,8", "0,2,3", "6", {0, 2, 3, 1});
  suite.reductions("200000", "0", "");
  suite.reductions("3001,40", "0", "40");
  suite.bench.run();
}

TEST(RowDevice, Norms) {
  Suite suite("norms");
  auto same = [&](const std::string& label, const std::string& type, const std::string& call,
                  const Layouts& layouts = {}) {
    suite.add(label + " " + type, one(type, call, type), layouts);
  };
  for (const char* type : {"f32[37,19]", "f32[11,1000]", "f32[3,2053]", "f32[2,40000]", "f32[3,33001]",
                           "f16[5,256]", "f64[4,130]"}) {
    same("softmax", type, "softmax(%x) dim=1");
    same("log_softmax", type, "log_softmax(%x) dim=1");
    same("layer_norm", type, "layer_norm(%x) dims=1");
    same("rms_norm", type, "rms_norm(%x) dims=1");
  }
  same("softmax over columns", "f32[3,20,37]", "softmax(%x) dim=1");
  same("softmax over long columns", "f32[3,500,37]", "softmax(%x) dim=1");
  same("softmax over longer columns", "f32[1,5000,37]", "softmax(%x) dim=1");
  same("softmax over wide columns", "f32[1,50,33800]", "softmax(%x) dim=1");
  same("softmax over longer wide columns", "f32[2,70,17001]", "softmax(%x) dim=1");
  suite.add("sum over wide columns", one("f32[1,1030,33800]", "sum(%x) dims=[1]", "f32[1,33800]"));
  same("softmax in another order", "f32[3,50,37]", "softmax(%x) dim=2", {{"x", {DType::f32, {0, 2, 1}}}});
  same("group_norm", "f32[3,6,5,8]", "group_norm(%x) groups=2");
  same("group_norm", "f32[3,64,15,8]", "group_norm(%x) groups=4");
  same("instance norm", "f32[3,6,15,18]", "group_norm(%x) groups=6");
  same("group_norm NHWC", "f32[3,6,5,8]", "group_norm(%x) groups=2",
       {{"x", {DType::f32, {0, 2, 3, 1}}}, {"y", {DType::f16, {0, 2, 3, 1}}}});
  suite.add("layer_norm by a team", one("f16[3,20000]", "layer_norm(%x) dims=1", "f16[3,20000]"), {}, "row",
            {{"team", 1}});
  suite.add("instance norm by a team", one("f32[1,3,90,101]", "group_norm(%x) groups=3", "f32[1,3,90,101]"),
            {}, "row", {{"team", 1}});
  suite.add("residual layer_norm and its input by a team",
            "graph \"g\"\ninput %x : f32[3,9001]\ninput %r : f32[3,9001]\nparameter %w : f32[9001]\n\n"
            "%s = add(%x, %r) : f32[3,9001]\n%n = layer_norm(%s, %w) dims=1 : f32[3,9001]\n"
            "%g = mul(%n, %x) : f32[3,9001]\n%a = amax(%g) dims=[1] : f32[3]\n\n"
            "output %s\noutput %g\noutput %a\nend\n",
            {}, "row", {{"team", 1}});
  for (const char* type : {"f32", "bf16"})
    suite.add(
        format("two norms of {} and the sum between them", type),
        format_of("graph \"g\"\ninput %x : {0}[9,300]\ninput %r : {0}[9,300]\nparameter %w : {0}[300]\n\n"
                  "%n = rms_norm(%x, %w) dims=1 : {0}[9,300]\n%s = add(%r, %n) : {0}[9,300]\n"
                  "%m = layer_norm(%s, %w) dims=1 : {0}[9,300]\n\noutput %s\noutput %m\nend\n",
                  {type}));
  suite.add("residual layer_norm and its input",
            "graph \"g\"\ninput %x : f32[9,300]\ninput %r : f32[9,300]\nparameter %w : f32[300]\nparameter "
            "%b : f32[300]\n\n"
            "%s = add(%x, %r) : f32[9,300]\n%n = layer_norm(%s, %w, %b) dims=1 : f32[9,300]\n%g = gelu(%n) : "
            "f32[9,300]\n\n"
            "output %s\noutput %g\nend\n");
  suite.add("masked softmax, its largest and its entropy",
            "graph \"g\"\ninput %x : f32[4,6,70]\ninput %m : bool[6,70]\n\n"
            "%f = full() shape=[1] dtype=f32 value=-inf : f32[1]\n%w = where(%m, %x, %f) : f32[4,6,70]\n"
            "%p = softmax(%w) dim=2 : f32[4,6,70]\n%a = amax(%p) dims=[2] : f32[4,6]\n"
            "%l = log_softmax(%x) dim=2 : f32[4,6,70]\n%e = mul(%p, %l) : f32[4,6,70]\n%s = sum(%e) dims=[2] "
            ": f32[4,6]\n\n"
            "output %p\noutput %a\noutput %s\nend\n");
  suite.add(
      "reductions over different dimensions",
      "graph \"g\"\ninput %x : f32[40,50]\n\n%a = sum(%x) dims=[0] keepdim=true : f32[1,50]\n"
      "%b = mean(%x) dims=[1] keepdim=true : f32[40,1]\n%c = add(%a, %b) : f32[40,50]\n"
      "%d = permute(%c) dims=[1,0] : f32[50,40]\n%e = softmax(%d) dim=1 : f32[50,40]\n\noutput %e\nend\n");
  suite.bench.run();
}

// Contiguous channels, long rows: vectors of rows, NCHW written.
TEST(RowDevice, ChannelsLast) {
  Suite suite("channels_last");
  std::vector<int64_t> order = {0, 2, 3, 1};
  std::string norm =
      "graph \"g\"\ninput %x : f32[2,16,24,23]\n\n%n = group_norm(%x) groups=16 : f32[2,16,24,23]\n%y = "
      "relu(%n) : f32[2,16,24,23]\n\noutput %y\nend\n";
  suite.add("norm to planes", norm, {{"x", {DType::f16, order}}}, "row");
  suite.add("norm", norm, {{"x", {DType::f16, order}}, {"y", {DType::f16, order}}}, "row");
  suite.add("norm of singles to planes", norm, {{"x", {DType::f32, order}}}, "row");
  for (const char* channels : {"8", "40", "128", "250"}) {
    std::string type = format("f32[2,{},7,9]", channels);
    std::string text = format(
        "graph \"g\"\ninput %x : {0}\n\n%s = softmax(%x) dim=1 : {0}\n%y = sigmoid(%s) : {0}\n\noutput %y\n"
        "end\n",
        type);
    suite.add(format("softmax of {} channels to planes", channels), text, {{"x", {DType::f16, order}}},
              "row");
  }
  suite.add(
      "concat and norm",
      "graph \"g\"\ninput %x : f32[2,8,24,23]\ninput %z : f32[2,16,24,23]\n\n%c = concat(%x, %z) dim=1 : "
      "f32[2,24,24,23]\n%y = group_norm(%c) groups=24 : f32[2,24,24,23]\n\noutput %y\nend\n",
      {{"z", {DType::f16, order}}, {"y", {DType::f16, order}}}, "row");
  suite.add("concat of one type and norm",
            "graph \"g\"\ninput %x : f32[2,9,7,7]\ninput %z : f32[2,16,7,7]\ninput %a : f32[2,3,7,7]\n\n%c = "
            "concat(%x, %z, %a) dim=1 : f32[2,28,7,7]\n%y = group_norm(%c) groups=28 : f32[2,28,7,7]\n%s = "
            "mean(%c) dims=[0] : f32[28,7,7]\n\noutput %y\noutput %s\nend\n",
            {{"x", {DType::f16, order}}, {"z", {DType::f16, order}}, {"a", {DType::f16, order}}}, "row");
  EXPECT_NE(suite.bench.last().code.source.find("c_part"), std::string::npos);
  // Rows of what pools make lie as what they look at does.
  std::string pooled =
      "graph \"g\"\ninput %x : f32[2,{0},25,46]\n\n%p = max_pool(%x) kernel=[2,2] stride=[2,2] "
      "padding=[0,0] dilation=[1,1] : f32[2,{0},12,23]\n%q = max_pool(%p) kernel=[3,1] stride=[3,1] "
      "padding=[0,0] dilation=[1,1] : f32[2,{0},4,23]\n%m = {1} keepdim=true : f32[{2}]\n\noutput %m\nend\n";
  for (const char* channels : {"8", "40", "64", "61"}) {
    suite.add(format("mean of pooled {} channels", channels),
              format_of(pooled, {channels, "mean(%p) dims=[2,3]", format("2,{},1,1", channels)}),
              {{"x", {DType::f16, order}}}, "row");
    suite.add(format("sum over {} pooled channels", channels),
              format_of(pooled, {channels, "sum(%q) dims=[1]", "2,1,4,23"}), {{"x", {DType::f16, order}}},
              "row");
  }
  suite.add(
      "norm along a row of channels last, pooled",
      "graph \"g\"\ninput %x : f32[2,16,4,8,40]\nparameter %w : f32[40]\n\n%n = layer_norm(%x, %w) dims=1 "
      ": f32[2,16,4,8,40]\n%p = avg_pool(%n) kernel=[2,2,2] stride=[2,2,2] padding=[0,0,0] : "
      "f32[2,16,2,4,20]\n%y = gelu(%p) : f32[2,16,2,4,20]\n\noutput %y\nend\n",
      {{"x", {DType::f16, {0, 2, 3, 4, 1}}}}, "row");
  EXPECT_NE(suite.bench.last().code.source.find("load_vector<true"), std::string::npos);
  suite.add("rows for everybody", one("f32[136000,17]", "amin(%x) dims=[1]", "f32[136000]"));
  EXPECT_NE(suite.bench.last().code.source.find("reduce_lanes<8>"), std::string::npos);
  // Two norms in one pass; and a thread that takes its channels of several pixels.
  std::string two =
      "graph \"g\"\ninput %x : f32[{0}]\ninput %z : f32[{0}]\nparameter %w : f32[24]\nparameter %b : "
      "f32[24]\nbuffer %m : f32[24]\nbuffer %o : f32[24]\n\n%v = abs(%o) : f32[24]\n%n, %nm, %nv = "
      "batch_norm(%x, %w, %b, %m, %v) training=true : f32[{0}], f32[24], f32[24]\n%p, %pm, %pv = "
      "batch_norm(%z, %b, %w, %m, %v) training=true : f32[{0}], f32[24], f32[24]\n%s = add(%n, %p) : "
      "f32[{0}]\n%y = relu(%s) : f32[{0}]\n\noutput %y\noutput %nm\noutput %pv\nend\n";
  plan::Storage half_last{DType::f16, order};
  for (const char* shape : {"2,24,30,31", "2,24,224,160"}) {
    const bool by_items = std::string_view(shape) == "2,24,224,160";
    suite.add(format("two norms of {}", shape), format_of(two, {shape}),
              {{"x", half_last}, {"z", half_last}, {"y", half_last}}, "batch_norm");
    EXPECT_EQ(suite.bench.last().code.source.find("item < 2") != std::string::npos, by_items);
    suite.add(format("two norms of {} to planes", shape), format_of(two, {shape}),
              {{"x", half_last}, {"z", half_last}}, "batch_norm");
    EXPECT_EQ(suite.bench.last().code.source.find("item < 2") != std::string::npos, by_items);
  }
  suite.add("mean",
            "graph \"g\"\ninput %x : f32[2,40,24,23]\n\n%y = silu(%x) : f32[2,40,24,23]\n%m = mean(%y) "
            "dims=[2,3] keepdim=true : f32[2,40,1,1]\n\noutput %m\nend\n",
            {{"x", {DType::f16, order}}}, "row");
  suite.bench.run();
}

TEST(RowDevice, BatchNorm) {
  Suite suite("batch_norm");
  for (const char* shape :
       {"4,6,5,8", "2,3,70,70", "300,9", "8,33,31", "2,12,21,19", "2,16,30,31", "3,16,30,31", "2,40,64,61"})
    for (bool nhwc : {false, true})
      for (bool training : {true, false}) {
        std::string channels = split(shape, ',')[1], y = training ? "%y, %m, %v" : "%y";
        std::string types =
            training ? format("f32[{0}], f32[{1}], f32[{1}]", shape, channels) : format("f32[{}]", shape);
        std::string text = format(
            "graph \"g\"\ninput %x : f32[{0}]\nparameter %w : f32[{1}]\nparameter %b : f32[{1}]\nbuffer %rm "
            ": f32[{1}]\n"
            "parameter %root : f32[{1}]\n\n%rv = abs(%root) : f32[{1}]\n{2} = batch_norm(%x, %w, %b, %rm, "
            "%rv) training={3} : "
            "{4}\n%z = relu(%y) : f32[{0}]\n\noutput %z\n{5}end\n",
            shape, channels, y, training, types, training ? "output %m\noutput %v\n" : "");
        size_t rank = split(shape, ',').size();
        std::vector<int64_t> order = {0};
        for (size_t d = 2; d < rank; ++d) order.push_back(static_cast<int64_t>(d));
        order.push_back(1);
        Layouts layouts;
        DType held = DType::f32;
        if (channels == "16" || channels == "40") held = DType::f16;
        if (nhwc) layouts = {{"x", {held, order}}, {"z", {DType::f16, order}}};
        suite.add(format("{} {} {}", shape, nhwc ? "NHWC" : "NCHW", training ? "training" : "evaluation"),
                  text, layouts, training ? "batch_norm" : "loop");
        // Contiguous channels, of more pixels than a block holds.
        const bool by_cluster =
            training && (rank == 2 || (nhwc && (channels == "12" || channels == "16" || channels == "40")));
        EXPECT_EQ(suite.bench.last().code.source.find("stitch::reduce_cluster") != std::string::npos,
                  by_cluster)
            << shape;
      }
  suite.bench.run();
}

}  // namespace
}  // namespace stitch::code::loops
