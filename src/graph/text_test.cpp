#include "graph/text.h"

#include <gtest/gtest.h>

namespace stitch {
namespace {

constexpr std::string_view small = R"(graph "small"
input %x : f32[2,3,8,8]
input %"odd name" : f32[3,5]{1,3}
parameter %w : f32[4,3,3,3]
parameter %tied : f32[4,3,3,3] = "w"
buffer %mean : f32[4]
buffer %var : f32[4]
seed %seed : i64[]

%y = conv(%x, %w) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[2,4,8,8] @ "model.py:3, in forward: \"y\"" "conv1"
%z, %z.1, %z.2 = batch_norm(%y, none, none, %mean, %var) training=true eps=0.001 : f32[2,4,8,8], f32[4], f32[4]
%r = random(%seed) shape=[2,4,8,8] dtype=f32 distribution="uniform" a=-inf stream=0 : f32[2,4,8,8] @ "" "module.only"
%s = add(%z, %r) : f32[2,4,8,8]

output %s
update %mean = %z.1
update %var = %z.2
end
)";

TEST(GraphText, ParsesBackToTheByte) {
  auto graph = parse_graph(small);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(print_graph(*graph), small);
  EXPECT_EQ(graph->nodes.size(), 4u);
  EXPECT_EQ(graph->nodes[1].attributes.number("momentum"), 0.1);
  EXPECT_EQ((*graph)[graph->find("tied")].data, "w");
  EXPECT_EQ((*graph)[graph->find("odd name")].type.strides, (std::vector<int64_t>{1, 3}));
}

TEST(GraphText, KeepsEveryDoubleExactly) {
  for (double value : {0.1, 1e-300, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 3.0}) {
    Graph graph;
    graph.name = "g";
    auto full = graph.add_node(Op::full, {}, {{"shape", Shape{}}, {"dtype", DType::f64}, {"value", value}});
    graph.outputs = *full;
    auto again = parse_graph(print_graph(graph));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(same(*again->nodes[0].attributes.find("value"), AttributeValue(value))) << value;
  }
}

struct Bad {
  const char *name, *text, *message;
};

void PrintTo(const Bad& one, std::ostream* out) { *out << one.name; }

class BadText : public testing::TestWithParam<Bad> {};

TEST_P(BadText, IsRefusedWithItsPlace) {
  auto graph = parse_graph(GetParam().text);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().text(), GetParam().message);
  EXPECT_EQ(graph.error().exit_code(), 2);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadText,
    testing::Values(
        Bad{"empty", "", "line 1: the text stops before 'end': it was cut off\nfix: import the model again"},
        Bad{"cut", "graph \"g\"\ninput %x : f32[2]\n%y = relu(%x) : f32[2]\n",
            "line 4: the text stops before 'end': it was cut off\nfix: import the model again"},
        Bad{"no_header", "input %x : f32[2]\nend\n",
            "line 1, column 6: a graph's text begins with: graph \"name\""},
        Bad{"unknown_op", "graph \"g\"\ninput %x : f32[2]\n%y = rellu(%x) : f32[2]\nend\n",
            "line 3, column 11: 'rellu' is no op; did you mean 'relu'?"},
        Bad{"cycle", "graph \"g\"\n%a = relu(%b) : f32[2]\n%b = relu(%a) : f32[2]\noutput %b\nend\n",
            "line 2, column 13: %b is not known here: it is never computed, or only later (a cycle)"},
        Bad{"ill_typed", "graph \"g\"\ninput %x : f32[2]\n%y = relu(%x) : f32[3]\nend\n",
            "%y: is said to be f32[3], but relu gives f32[2]"},
        Bad{"mixed_dtypes",
            "graph \"g\"\ninput %x : f32[2]\ninput %i : i64[2]\n%y = add(%x, %i) : f32[2]\nend\n",
            "%y: the second operand is i64 where f32 is needed\nfix: convert one of the two, in the model or "
            "among its "
            "inputs: x.to(other.dtype)"},
        Bad{"twice", "graph \"g\"\ninput %x : f32[2]\ninput %x : f32[2]\nend\n",
            "line 3, column 9: %x is there already"},
        Bad{"huge_shape", "graph \"g\"\ninput %x : f32[9000000000,9000000000]\nend\n",
            "line 2, column 38: the shape [9000000000,9000000000] is not a usable one"},
        Bad{"bad_number", "graph \"g\"\n%y = iota() size=12x dtype=i64 : i64[12]\nend\n",
            "line 2, column 21: expected an integer"},
        Bad{"missing_attribute", "graph \"g\"\n%y = iota() dtype=i64 : i64[12]\nend\n",
            "line 2, column 24: iota needs the attribute 'size'"},
        Bad{"after_end", "graph \"g\"\nend\ninput %x : f32[2]\nend\n", "line 3, column 1: text after 'end'"},
        Bad{"unknown_dtype", "graph \"g\"\ninput %x : f33[2]\nend\n", "line 2, column 15: 'f33' is no dtype"},
        Bad{"arity", "graph \"g\"\ninput %x : f32[2]\n%y = add(%x) : f32[2]\nend\n",
            "%y: add's operand b is missing"},
        Bad{"update_of_result",
            "graph \"g\"\ninput %x : f32[2]\n%y = relu(%x) : f32[2]\nupdate %y = %x\nend\n",
            "%y: is updated, but is a result"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stitch
