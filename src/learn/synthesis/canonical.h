// What a graph computes, whatever its names and the order of its nodes; and how much two graphs have in
// common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace stitch::learn {

// Equal for graphs that differ in names and order alone: 32 hexadecimal digits.
std::string canonical_hash(const Graph& graph);

// Hashes of what can be seen around each node: its op with attributes, with its operands' and theirs again;
// each once without sizes and once with sizes to the nearest power of two. The smallest of them, sorted.
using Sketch = std::vector<uint32_t>;
inline constexpr size_t sketch_size = 48;
Sketch sketch_of(const Graph& graph);
// An estimate of the share of them that both have (Jaccard's), 0 to 1.
double similarity(const Sketch& a, const Sketch& b);

// "level sketch…" lines, hexadecimal: how sketches are kept.
struct NamedSketch {
  std::string name;
  Sketch sketch;
};
std::string sketch_line(const NamedSketch& one);
Result<std::vector<NamedSketch>> read_sketches(std::string_view text);
// Of KernelBench's tasks, part of the program. Names are level/number alone.
const std::vector<NamedSketch>& kernelbench_sketches();

struct Nearest {
  std::string name;
  double similarity = 0;
};
Nearest nearest_of(const Sketch& sketch, const std::vector<NamedSketch>& all);

}  // namespace stitch::learn
