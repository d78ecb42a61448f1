// Is a training set clean of a benchmark? By graph: the same one, or one that has too much in common.
#pragma once

#include <string>
#include <vector>

#include "learn/synthesis/canonical.h"

namespace stitch::learn {

struct KnownGraph {
  std::string name, hash;
  Sketch sketch;
};
struct Leak {
  std::string training, benchmark;
  double similarity = 0;  // 1: the same graph
};
// Benchmarks that are known by their sketches alone have no hash.
std::vector<Leak> leaks(const std::vector<KnownGraph>& training, const std::vector<KnownGraph>& benchmark,
                        double most_similar);

}  // namespace stitch::learn
