// Composes models from operators and whole blocks: the same seed and number are the same model, on every
// machine.
#pragma once

#include <memory>
#include <string>

#include "graph/graph.h"

namespace stitch::learn {

struct Composed {
  std::string name;                  // "synthetic_000017"
  std::string python;                // KernelBench's form
  Graph graph;                       // as the text says it, cleaned up
  std::vector<std::string> recipes;  // what it is made of
  DType dtype = DType::f32;
};

enum class Scale : uint8_t {
  full,       // sizes as models have them
  miniature,  // the same model in small: what it computes can be checked in milliseconds
};
Result<Composed> compose(uint64_t seed, int64_t number, Scale scale);

}  // namespace stitch::learn
