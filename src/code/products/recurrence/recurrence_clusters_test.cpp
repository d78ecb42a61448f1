#include "code/products/recurrence/recurrence_clusters.h"

#include <gtest/gtest.h>

namespace stitch::code {
namespace {

Recurrence clustered(const char* kind, int64_t layers, int64_t directions, int64_t hidden,
                     int64_t batch = 10) {
  Recurrence r;
  r.kind = kind;
  r.gates = r.lstm() ? 4 : r.kind == "gru" ? 3 : 1;
  r.layers = layers;
  r.directions = directions;
  r.steps = 512;
  r.batch = batch;
  r.input = 128;
  r.hidden = r.output = hidden;
  return r;
}

TEST(Clusters, LayersOfOneDirectionRunAtOnceWhereTheyFit) {
  auto all = clusters_of(clustered("lstm", 6, 1, 256), *find_gpu("H200"));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->layers_at_once, 6);
  EXPECT_EQ(all->blocks, 16);
  auto deep = clusters_of(clustered("lstm", 12, 1, 256), *find_gpu("H200"));
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->layers_at_once, 1) << "clusters that wait for each other must all be resident";
}

TEST(Clusters, BothDirectionsTakeALayerAtATimeAndOneWave) {
  Recurrence r = clustered("gru", 6, 2, 256);
  auto clusters = clusters_of(r, *find_gpu("H200"));
  ASSERT_TRUE(clusters);
  EXPECT_EQ(clusters->layers_at_once, 1);
  EXPECT_LE(2 * (r.batch + clusters->samples - 1) / clusters->samples * clusters->blocks, 132);
}

TEST(Clusters, EveryBlockOwnsUnits) {
  for (int64_t hidden : {1, 5, 33, 100, 200, 255, 320}) {
    auto clusters = clusters_of(clustered("gru", 1, 1, hidden), *find_gpu("H200"));
    ASSERT_TRUE(clusters) << hidden;
    const int64_t quads = (hidden + 3) / 4, each = (quads + clusters->blocks - 1) / clusters->blocks;
    EXPECT_EQ((quads + each - 1) / each, clusters->blocks) << hidden;
  }
}

TEST(Clusters, WeightsThatDoNotFitAndGpusWithoutClustersAreRefused) {
  EXPECT_FALSE(clusters_of(clustered("lstm", 1, 1, 512), *find_gpu("H200")));
  EXPECT_FALSE(clusters_of(clustered("lstm", 1, 1, 256), *find_gpu("A100")));
}

}  // namespace
}  // namespace stitch::code
