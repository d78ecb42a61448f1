// The plan: which nodes are computed together, how, and how values lie in memory between them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/numerics.h"

namespace stitch::plan {

// How a value lies in memory between regions.
struct Storage {
  DType dtype = DType::f32;
  std::vector<int64_t> order;  // dimensions, outermost first; empty: row-major

  bool operator==(const Storage&) const = default;
};

// How a technique multiplies, and in which order of dimensions it takes images.
enum class Arithmetic : uint8_t {
  by_class,         // as the numerics class has it
  exact,            // FP32's accuracy
  half,             // operands rounded to fp16, FP32 sums
  half_exact_bias,  // the same, biases added in FP32
};
enum class Order : uint8_t { row_major, channels_last };
struct Offer {
  Arithmetic arithmetic = Arithmetic::by_class;
  Order order = Order::row_major;

  bool rounds_to_half() const {
    return arithmetic == Arithmetic::half || arithmetic == Arithmetic::half_exact_bias;
  }
  bool operator==(const Offer&) const = default;
};
std::string_view name(Arithmetic arithmetic);
std::string_view name(Order order);

class Technique;

// CUDA that somebody wrote for one region: a person, a language model.
struct Source {
  std::string function;  // that it defines, as the region's contract has it
  std::string text;
  std::string author;
  int64_t workspace_bytes = 0;  // scratch memory that the function is given behind its results

  bool operator==(const Source&) const = default;
};
inline constexpr size_t most_source_bytes = 1 << 20;

// A connected piece of the graph implemented as one unit.
struct Region {
  std::string name;  // a C identifier made from the model's own names
  const Technique* technique = nullptr;
  std::vector<int32_t> nodes;   // in graph order
  std::vector<ValueId> reads;   // inputs, states, the seed, or other regions' writes; not parameters
  std::vector<ValueId> writes;  // what outputs, updates or other regions need
  Offer offer;                  // of the technique's
  std::map<std::string, int64_t> choices;  // of its knobs' values, where one isn't the technique's own
  std::shared_ptr<const Source> source;    // of a technique that takes one
  // Neighbours with the same section run side by side, those of a branch one after the other; 0: alone.
  int section = 0, branch = 0;

  int64_t choice(const std::string& knob, int64_t otherwise) const {
    auto found = choices.find(knob);
    return found == choices.end() ? otherwise : found->second;
  }
  bool has_same_source(const Region& other) const {
    return source == other.source || (source && other.source && *source == *other.source);
  }
};

// One item of the to-do list: what it changes, and what that is predicted to gain.
struct Step {
  std::string title;
  std::string why;
  std::vector<std::string> regions;  // by name, as they are after the step
  double predicted_gain = 0;         // seconds
};

struct Plan {
  Numerics numerics = Numerics::standard;
  std::vector<Storage> storage;  // by value
  std::vector<Region> regions;   // in the order in which they run
  bool one_graph = true;         // the whole forward pass is captured and replayed
  std::vector<Step> steps;
};

// What a region reads, then what it writes.
std::vector<ValueId> reads_and_writes(const Region& region);
// Storage as the ABI and the graph have it, no regions yet.
Plan empty_plan(const Graph& graph, Numerics numerics);
// reads and writes of a region from its nodes: what it needs from outside, and what others need from it.
void complete(const Graph& graph, Region& region);
// Which regions make the same in every run, from weights and constants alone: they run when the program is
// created.
std::vector<bool> constant_regions(const Graph& graph, const Plan& plan);
// The regions of a section: from the first of the two to the one before the second.
struct Section {
  size_t first = 0, end = 0;
  int branches = 0;
};
std::vector<Section> sections_of(const Plan& plan);
// Every node covered exactly once, contracts meet, an order that can run. Errors name the region.
Result<void> check(const Graph& graph, const Plan& plan);
// What is wrong with a region of it.
Error at_region(const Region& region, std::string message, std::string fix = {});

}  // namespace stitch::plan
