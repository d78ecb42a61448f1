#include "code/products/recurrence/recurrence_spread.h"

#include <gtest/gtest.h>

namespace stitch::code {
namespace {

GpuSpec with_multiprocessors(int count) {
  GpuSpec gpu = *find_gpu("H200");
  gpu.sms = count;
  return gpu;
}

Recurrence recurrence(const char* kind, int64_t layers, int64_t directions, int64_t hidden) {
  Recurrence r;
  r.kind = kind;
  r.gates = r.lstm() ? 4 : r.kind == "gru" ? 3 : 1;
  r.layers = layers;
  r.directions = directions;
  r.steps = 512;
  r.batch = 10;
  r.input = 128;
  r.hidden = r.output = hidden;
  return r;
}

TEST(Spread, LayersOfOneDirectionRunAsAWavefront) {
  for (const char* kind : {"lstm", "gru", "tanh"}) {
    Recurrence r = recurrence(kind, 6, 1, 256);
    auto spread = spread_of(r, with_multiprocessors(132));
    ASSERT_TRUE(spread) << kind;
    EXPECT_EQ(spread->layers_at_once, 6) << kind;
    EXPECT_LE(spread->blocks(r), 132) << kind;
  }
}

TEST(Spread, BothDirectionsTakeALayerAtATime) {
  Recurrence r = recurrence("lstm", 6, 2, 256);
  auto spread = spread_of(r, with_multiprocessors(132));
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->layers_at_once, 1);
  EXPECT_GT(spread->blocks(r), 66) << "half of the machine would be idle";
}

TEST(Spread, FewerProcessorsTakeFewerLayersAtOnce) {
  Recurrence r = recurrence("lstm", 6, 1, 256);
  auto spread = spread_of(r, with_multiprocessors(70));
  ASSERT_TRUE(spread);
  EXPECT_LT(spread->layers_at_once, 6);
  EXPECT_LE(spread->blocks(r), 70);
}

TEST(Spread, WeightsThatDoNotFitIntoRegistersAreRefused) {
  EXPECT_FALSE(spread_of(recurrence("lstm", 1, 1, 2048), with_multiprocessors(132)));
  EXPECT_FALSE(spread_of(recurrence("lstm", 6, 1, 256), with_multiprocessors(4)));
}

TEST(Clusters, LayersOfOneDirectionRunAtOnceWhereTheyFit) {
  auto all = clusters_of(recurrence("lstm", 6, 1, 256), *find_gpu("H200"));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->layers_at_once, 6);
  EXPECT_EQ(all->blocks, 16);
  auto deep = clusters_of(recurrence("lstm", 12, 1, 256), *find_gpu("H200"));
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->layers_at_once, 1) << "clusters that wait for each other must all be resident";
}

TEST(Clusters, BothDirectionsTakeALayerAtATimeAndOneWave) {
  Recurrence r = recurrence("gru", 6, 2, 256);
  auto clusters = clusters_of(r, *find_gpu("H200"));
  ASSERT_TRUE(clusters);
  EXPECT_EQ(clusters->layers_at_once, 1);
  EXPECT_LE(2 * (r.batch + clusters->samples - 1) / clusters->samples * clusters->blocks, 132);
}

TEST(Clusters, EveryBlockOwnsUnits) {
  for (int64_t hidden : {1, 5, 33, 100, 200, 255, 320}) {
    auto clusters = clusters_of(recurrence("gru", 1, 1, hidden), *find_gpu("H200"));
    ASSERT_TRUE(clusters) << hidden;
    const int64_t quads = (hidden + 3) / 4, each = (quads + clusters->blocks - 1) / clusters->blocks;
    EXPECT_EQ((quads + each - 1) / each, clusters->blocks) << hidden;
  }
}

TEST(Clusters, WeightsThatDoNotFitAndGpusWithoutClustersAreRefused) {
  EXPECT_FALSE(clusters_of(recurrence("lstm", 1, 1, 512), *find_gpu("H200")));
  EXPECT_FALSE(clusters_of(recurrence("lstm", 1, 1, 256), *find_gpu("A100")));
}

}  // namespace

}  // namespace stitch::code
