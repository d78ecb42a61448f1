#include <limits>

#include "reference/preflight.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/text.h"

namespace stitch::verifier {
namespace {

Graph linear(int64_t batch) {
  auto graph =
      parse_graph(format("graph \"g\"\nparameter %w : f32[1024,1024]\ninput %x : f32[{},1024]\n"
                         "%y = linear(%x, %w) : f32[{},1024]\noutput %y\nend\n",
                         batch, batch));
  if (!graph) throw Bug(graph.error().text());
  return *graph;
}

constexpr int64_t gigabyte = 1'000'000'000;

TEST(Preflight, WhatCannotFitIsRefusedWithItsSizes) {
  const Graph graph = linear(100'000'000);
  auto refused = check_room(graph, needs_of(graph), {.host = {24 * gigabyte, 20 * gigabyte}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
  EXPECT_EQ(
      refused.error().message,
      "its tensors can't fit: the program needs about 819 GB, PyTorch's float64 reference about 1.64 TB; "
      "this machine has 24.0 GB. The largest tensor is x f32[100000000,1024]: 410 GB");
  EXPECT_FALSE(check_room(graph, needs_of(graph), {.host = {}, .gpu = 141 * gigabyte}));
}

TEST(Preflight, WhatMayFitIsNot) {
  for (int64_t batch : {16, 1'000'000})  // 4 GB of results, 16 GB in float64
    EXPECT_TRUE(check_room(linear(batch), needs_of(linear(batch)), {.host = {24 * gigabyte, gigabyte}}));
  EXPECT_TRUE(check_room(linear(100'000'000), needs_of(linear(100'000'000)), {})) << "nobody knows";
}

TEST(Preflight, ThisMachineHasMemory) {
  const Room room = room_here(runner::Device::emulated);
  EXPECT_GT(room.host.total, int64_t{64} << 20);
  EXPECT_LE(room.host.available, room.host.total);
  EXPECT_FALSE(check_free_space("/tmp/not/there", std::numeric_limits<int64_t>::max()));
  EXPECT_TRUE(check_free_space("/tmp/not/there", 1));
}

}  // namespace
}  // namespace stitch::verifier
