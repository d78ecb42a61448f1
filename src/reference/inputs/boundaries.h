// Where a graph's own constants decide: bounds, thresholds, whole numbers, epsilons. A random draw hardly
// ever gets there, so inputs are planted that do.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "graph/graph.h"
#include "reference/inputs/pointed.h"

namespace stitch::verifier {

// What one input gets, in the midst of the task's own draw.
struct Planted {
  std::vector<double> values;
  double share = 0.25;  // of all elements
  // Samples are scaled so that their root mean squares spread over this range; 0: they are not.
  double smallest = 0, largest = 0;

  bool empty() const { return values.empty() && largest == 0; }
};

// By the kind of question ("bounds", "whole numbers", …): what each input gets. Values below zero, which not
// every model takes, have a kind of their own.
using Boundaries = std::map<std::string, std::map<ValueId, Planted>, std::less<>>;
Boundaries boundaries_of(const Graph& graph);

// Behind a layer no input reaches a far bound: its shifts do. Channels get the bounds' values, or all of them
// are less than a maximum may begin at. Empty where nothing in the graph asks for them.
std::vector<WeightChange> bounded_weights(const Graph& graph);

// In the order of the graph's inputs: what distributions.py plants.
Json to_json(const Boundaries& boundaries, const Graph& graph);
void plant(const Planted& planted, uint64_t seed, const Shape& shape, std::span<double> values);

}  // namespace stitch::verifier
