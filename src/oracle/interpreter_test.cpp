#include "oracle/interpreter.h"

#include <sys/resource.h>

#include "oracle/call.h"
#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer);
#else
constexpr bool sanitized = false;
#endif

ValueId add(Graph& graph, Op op, std::vector<ValueId> operands, std::string_view name) {
  auto results =
      graph.add_node(op, std::move(operands), {}, name, "model.py:" + std::to_string(graph.nodes.size()));
  if (!results) throw Bug(results.error().text());
  return (*results)[0];
}

// s = x + y; t = s * s; u = exp(x), which t doesn't need
struct Small {
  Graph graph;
  ValueId x = graph.add_leaf(Role::input, "x", {DType::f32, {2}, {}});
  ValueId y = graph.add_leaf(Role::parameter, "y", {DType::f32, {2}, {}});
  ValueId s = add(graph, Op::add, {x, y}, "s");
  ValueId t = add(graph, Op::mul, {s, s}, "t");
  ValueId u = add(graph, Op::exp, {x}, "u");
};

TEST(Interpreter, RunsOnlyWhatIsNeeded) {
  Small small;
  std::vector<size_t> ran;
  std::vector<ValueId> wanted = {small.t, small.s, small.x};
  auto results = evaluate(small.graph, {{small.x, floats({2}, {1, 2})}, {small.y, floats({2}, {3, 4})}},
                          wanted, [&](size_t node) { ran.push_back(node); });
  ASSERT_TRUE(results);
  expect_values((*results)[0], {16, 36});
  expect_values((*results)[1], {4, 6});
  expect_values((*results)[2], {1, 2});
  EXPECT_EQ(ran, (std::vector<size_t>{0, 1}));
}

TEST(Interpreter, StartsFromKnownIntermediates) {
  Small small;
  std::vector<ValueId> wanted = {small.t};
  auto results = evaluate(small.graph, {{small.s, floats({2}, {5, 7})}}, wanted);
  ASSERT_TRUE(results);
  expect_values((*results)[0], {25, 49});
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Interpreter, FreesAfterTheLastUse) {
  if (sanitized) GTEST_SKIP() << "the address sanitizer holds freed memory back";
  Graph graph;
  constexpr int64_t count = 1 << 20, length = 32;
  ValueId first = graph.add_leaf(Role::input, "x", {DType::f32, {count}, {}}), last = first;
  for (int64_t i = 0; i < length; ++i) last = add(graph, Op::neg, {last}, "y");
  long before = peak_kilobytes();
  auto results = evaluate(graph, {{first, counting({count})}}, std::span(&last, 1));
  ASSERT_TRUE(results);
  // All together would be 256 MB; three at a time are 24.
  EXPECT_LT(peak_kilobytes() - before, 100 << 10);
}

TEST(Interpreter, SaysWhatIsMissing) {
  Small small;
  std::vector<ValueId> wanted = {small.t};
  auto results = evaluate(small.graph, {{small.x, floats({2}, {1, 2})}}, wanted);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().text(), "y: the parameter 'y' has no data to compute with");
}

TEST(Interpreter, KnownValuesHaveTheGraphsTypes) {
  Small small;
  std::vector<ValueId> wanted = {small.u};
  auto results = evaluate(small.graph, {{small.x, floats({3}, {1, 2, 3})}}, wanted);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().text(), "x: 'x' is f32[2], and the data given for it f32[3]");
}

TEST(Interpreter, ErrorsSayWhere) {
  Tensor x = counting({3}), index = longs({1}, {3});
  auto results = try_apply(Op::index, {&x, &index}, {{"dims", Ints{0}}});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().where, "y (model.py:7)");
  EXPECT_EQ(results.error().message, "the index 3 is out of range for dimension 0 of size 3");
}

TEST(Interpreter, TooLargeIsAnErrorNotACrash) {
  if (sanitized) GTEST_SKIP() << "the address sanitizer ends the process at such an allocation";
  Tensor x = floats({1}, {1});
  auto results = try_apply(Op::expand, {&x}, {{"shape", Ints{int64_t{1} << 47}}});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, "memory");
  EXPECT_EQ(results.error().exit_code(), 1);
  EXPECT_NE(results.error().message.find("'y'"), std::string::npos) << results.error().message;
}

TEST(Interpreter, EveryOpHasAnEvaluator) {
  for (const OpInfo& entry : all_ops()) EXPECT_NE(evaluator(entry.op), nullptr) << entry.name;
}

}  // namespace
}  // namespace stitch::oracle
