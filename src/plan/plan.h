// The plan: which nodes are computed together, how, and how values are stored between them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/numerics.h"
#include "graph/sizes.h"

namespace stitch::plan {

// How a value is stored between regions.
struct Storage {
  DType dtype = DType::f32;
  std::vector<int64_t> order;  // dimensions, outermost first; empty: row-major

  bool operator==(const Storage&) const = default;
};

// The arithmetic of a technique's products, and the layout of the images it takes.
enum class Arithmetic : uint8_t {
  by_class,         // what the numerics class allows
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

// CUDA for one region, written by a person or a language model.
struct Source {
  std::string function;  // the function it defines: see the region's contract
  std::string text;
  std::string author;
  int64_t workspace_bytes = 0;  // scratch memory, passed after the results

  bool operator==(const Source&) const = default;
};
inline constexpr size_t most_source_bytes = 1 << 20;

// How a region is computed at some sizes of a call: where `measure` lies within the borders.
struct Variant {
  std::string measure;  // a formula of sizes: "batch * length"
  int64_t least = 0, most = 0;
  const Technique* technique = nullptr;
  Offer offer;
  std::map<std::string, int64_t> choices;

  bool operator==(const Variant&) const = default;
};

// A connected part of the graph, implemented as one unit.
struct Region {
  std::string name;  // a C identifier made from the model's own names
  const Technique* technique = nullptr;
  std::vector<int32_t> nodes;   // in graph order
  std::vector<ValueId> reads;   // inputs, states, the seed, or other regions' writes; not parameters
  std::vector<ValueId> writes;  // what outputs, updates or other regions need
  Offer offer;                  // one of the technique's
  std::map<std::string, int64_t> choices;  // knob values that differ from the technique's default
  std::shared_ptr<const Source> source;    // for techniques that take one
  // In a program for ranges of sizes: where another technique is faster. At most one of them fits a call.
  std::vector<Variant> variants;
  // Consecutive regions with the same section run concurrently, those of one branch in sequence; 0: alone.
  int section = 0, branch = 0;

  int64_t choice(const std::string& knob, int64_t otherwise) const {
    auto found = choices.find(knob);
    return found == choices.end() ? otherwise : found->second;
  }
  // As it is computed at these sizes.
  Region at(const Sizes& sizes) const;
  bool has_same_source(const Region& other) const {
    return source == other.source || (source && other.source && *source == *other.source);
  }
};

// One change of the plan, with its predicted gain.
struct Step {
  std::string title;
  std::string why;
  std::vector<std::string> regions;  // by name, as they are after the step
  double predicted_gain = 0;         // seconds
};

struct Plan {
  Numerics numerics = Numerics::standard;
  std::vector<Storage> storage;  // by value
  std::vector<Region> regions;   // in execution order
  bool one_graph = true;         // the whole forward pass is captured and replayed
  std::vector<Step> steps;
};

// What a region reads, then what it writes.
std::vector<ValueId> reads_and_writes(const Region& region);
// Default storage (the ABI's and the graph's), no regions yet.
Plan empty_plan(const Graph& graph, Numerics numerics);
// Sets a region's reads and writes from its nodes.
void complete(const Graph& graph, Region& region);
// Regions that depend on weights and constants alone: they run once, when the program is created.
std::vector<bool> constant_regions(const Graph& graph, const Plan& plan);
// The regions [first, end) of a section.
struct Section {
  size_t first = 0, end = 0;
  int branches = 0;
};
std::vector<Section> sections_of(const Plan& plan);
// Checks that every node is covered exactly once, contracts match and the order can run. Errors name the
// region.
Result<void> check(const Graph& graph, const Plan& plan);
// An error in one region of a plan.
Error at_region(const Region& region, std::string message, std::string fix = {});

}  // namespace stitch::plan
