// Scans, scatters and sorts over odd sizes: by blocks and by threads, in shared and in device memory.
#include "code/loops/emulated/bench.h"

namespace stitch::code::loops {
namespace {

void add(Bench& bench, const std::string& label, const std::string& text, const Layouts& layouts = {},
         std::string_view technique = {}) {
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph) << graph.error().text() << "\n" << text;
  auto added = bench.add(label, *graph, {}, {}, layouts, technique);
  EXPECT_TRUE(added) << label << ": " << added.error().text();
}

TEST(ScanDevice, Scans) {
  Bench bench("scans");
  for (const char* shape : {"3,37", "2,1500", "5,129", "4,33,19", "1,1", "2,0,3", "7,40,3"})
    for (int dim : {0, 1}) {
      std::string x = format("f32[{}]", shape);
      for (const char* op : {"cumsum", "cumprod", "logcumsumexp"})
        add(bench, format("{} of {} along {}", op, shape, dim),
            format("graph \"g\"\ninput %v : {0}\n\n%y = {1}(%v) dim={2} : {0}\n\noutput %y\nend\n", x, op,
                   dim));
      for (const char* type : {"i64", "u8", "f64"})
        add(bench, format("cumsum of {} {} along {}", type, shape, dim),
            format(
                "graph \"g\"\ninput %x : {0}[{1}]\n\n%y = cumsum(%x) dim={2} : {0}[{1}]\n\noutput %y\nend\n",
                type, shape, dim));
      for (const char* op : {"cummax", "cummin"})
        add(bench, format("{} of {} along {}", op, shape, dim),
            format("graph \"g\"\ninput %x : f32[{0}]\n\n%y, %p = {1}(%x) dim={2} : f32[{0}], "
                   "i64[{0}]\n\noutput %y\noutput %p\nend\n",
                   shape, op, dim));
      add(bench, format("from the end of {} along {}", shape, dim),
          format("graph \"g\"\ninput %x : {0}\n\n%s = silu(%x) : {0}\n%f = flip(%s) dims=[{1}] : {0}\n%c = "
                 "cumsum(%f) dim={1} : {0}\n"
                 "%y = flip(%c) dims=[{1}] : {0}\n%z = neg(%y) : {0}\n\noutput %z\nend\n",
                 x, dim),
          {}, "scan");
    }
  bench.run();
}

// Lists of sources by target: short, longer than a warp, longer than 1024; rows without sources.
TEST(ScanDevice, GroupedScatters) {
  Bench bench("grouped_scatters");
  for (auto [rows, sources] : {std::pair{40, 90}, {5, 400}, {2, 3000}, {300, 33}}) {
    const std::string text = format(
        "graph \"g\"\ninput %x : f32[{0},5]\ninput %s : f32[{1},5]\ninput %n : i64[{1}]\n\n%full = full() "
        "shape=[] dtype=i64 value={0} : i64[]\n%i = remainder(%n, %full) : i64[{1}]\n",
        rows, sources);
    for (const char* accumulate : {"true", "false"})
      add(bench, format("{} sources of {} rows, {}", sources, rows, accumulate),
          text + format("%p = index_put(%x, %s, %i) dims=[0] accumulate={2} : f32[{0},5]\n%y = relu(%p) : "
                        "f32[{0},5]\n\noutput %y\nend\n",
                        rows, sources, accumulate));
    for (const char* reduce : {"sum", "mean", "amax"})
      add(bench, format("{} of {} sources of {} rows", reduce, sources, rows),
          text + format("%c = reshape(%i) shape=[{1},1] : i64[{1},1]\n%e = expand(%c) shape=[{1},5] : "
                        "i64[{1},5]\n%y = scatter(%x, %e, %s) dim=0 reduce=\"{2}\" include_self=false : "
                        "f32[{0},5]\n\noutput %y\nend\n",
                        rows, sources, reduce));
  }
  // Rows of whole vectors, sources that are gathered themselves, few rows whose lists several threads share,
  // and an index that is a weight.
  struct Messages {
    int rows, sources;
    const char *index, *type;
  };
  for (auto [rows, sources, index, type] : {Messages{30, 70, "input", "f32"},
                                            {30, 70, "buffer", "f16"},
                                            {5, 200, "input", "f16"},
                                            {5, 200, "buffer", "f32"}})
    add(bench, format("messages of {} to {} rows, by an {}", type, rows, index),
        format("graph \"g\"\ninput %x : {0}[{2},2,16]\n{1} %n : i64[{3}]\n{1} %m : i64[{3}]\n"
               "input %w : {0}[{3},2]\n\n%zeros = full() shape=[{2},2,16] dtype={0} value=0.0 : "
               "{0}[{2},2,16]\n"
               "%g = index(%x, %n) dims=[0] : {0}[{3},2,16]\n%r = reshape(%w) shape=[{3},2,1] : "
               "{0}[{3},2,1]\n"
               "%v = mul(%g, %r) : {0}[{3},2,16]\n%p = index_put(%zeros, %v, %m) dims=[0] accumulate=true : "
               "{0}[{2},2,16]\n%s = add(%x, %p) : {0}[{2},2,16]\n%y = reshape(%s) shape=[{2},32] : "
               "{0}[{2},32]\n\noutput %y\nend\n",
               type, index, rows, sources));
  add(bench, "a list an element",
      "graph \"g\"\ninput %x : f32[4,50]\ninput %s : f32[3,40]\ninput %n : i64[3,40]\n\n%full = full() "
      "shape=[] "
      "dtype=i64 value=50 : i64[]\n%i = remainder(%n, %full) : i64[3,40]\n"
      "%y = scatter(%x, %i, %s) dim=1 reduce=\"sum\" : f32[4,50]\n\noutput %y\nend\n");
  bench.run();
}

// Results that begin with zeros: of a slice of the row, and of all of it.
TEST(ScanDevice, ExclusiveScans) {
  Bench bench("exclusive_scans");
  for (int length : {40, 1501, 2048, 5000})
    for (bool flipped : {false, true}) {
      std::string row = format("f32[3,{}]", length), less = format("f32[3,{}]", length - 1),
                  more = format("f32[3,{}]", length + 1);
      if (!flipped)
        add(bench, format("of a slice of {}", length),
            format("graph \"g\"\ninput %x : {0}\n\n%s = slice(%x) dim=1 start=0 end={3} : {1}\n%c = "
                   "cumsum(%s) dim=1 : {1}\n%z = full() shape=[3,1] dtype=f32 value=0 : f32[3,1]\n"
                   "%y = concat(%z, %c) dim=1 : {0}\n\noutput %y\nend\n",
                   row, less, more, length - 1),
            {}, "scan");
      std::string from = flipped ? "%f" : "%x";
      add(bench, format("of {}{}", length, flipped ? " from the end" : ""),
          format("graph \"g\"\ninput %x : {0}\n\n%f = flip(%x) dims=[1] : {0}\n%c = "
                 "cumsum({2}) dim=1 : {0}\n%y = pad(%c) pads=[0,0,1,0] mode=\"constant\" value=2 : {1}\n"
                 "%g = flip(%y) dims=[1] : {1}\n%n = neg({3}) : {1}\n\noutput %n\nend\n",
                 row, more, from, flipped ? "%g" : "%y"),
          {}, "scan");
    }
  bench.run();
}

TEST(ScanDevice, Sorts) {
  Bench bench("sorts");
  for (const char* type : {"f32", "f64", "i32", "bool", "f16"})
    for (const char* shape : {"3,37", "2,1", "1,700", "4,5,6", "2,5000"})
      for (bool flag : {false, true}) {
        add(bench, format("sort {} {}", type, shape),
            format("graph \"g\"\ninput %x : {0}[{1}]\n\n%y, %p = sort(%x) dim=1 descending={2} : {0}[{1}], "
                   "i64[{1}]\n\noutput %y\n"
                   "output %p\nend\n",
                   type, shape, flag));
        std::vector<std::string> sizes = split(shape, ',');
        sizes[0] = "1";
        add(bench, format("topk {} {}", type, shape),
            format("graph \"g\"\ninput %x : {0}[{1}]\n\n%n, %p = topk(%x) k=1 dim=0 largest={3} : {0}[{2}], "
                   "i64[{2}]\n\noutput %n\n"
                   "output %p\nend\n",
                   type, shape, join(sizes, ","), flag));
      }
  bench.run();
}

}  // namespace
}  // namespace stitch::code::loops
