// Everything that a decision of the Planner or the Coder may depend on, passed as one argument.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/gpu_spec.h"
#include "graph/instances.h"
#include "graph/numerics.h"
#include "plan/precision/rounding.h"

namespace stitch::plan {

struct Context {
  Context(const Graph& of, const GpuSpec& on, Numerics within, ReferenceFacts seen = {})
      : graph(of), gpu(on), numerics(within), torch(std::move(seen)), rounding(of, within, torch) {}

  const Graph& graph;
  const GpuSpec& gpu;  // the only source of hardware numbers
  Numerics numerics;
  ReferenceFacts torch;
  Rounding rounding;           // which nodes may lose bits
  bool lean = false;           // as little memory as techniques and branches can do with, whatever it costs
  int64_t widest_vector = 16;  // elements: sizes that are no multiple of four at times take single ones
  // A program for ranges of sizes: `graph` is the first of the instances. Null: for the graph's sizes alone.
  std::shared_ptr<const Instances> instances;
  const Context* planned = nullptr;  // of those at other sizes: at the plan's

  bool takes_sizes() const { return instances != nullptr; }
  // The same task, of which something else was seen.
  Context having_seen(ReferenceFacts seen) const;
  // The same at every instance's sizes.
  const std::vector<Context>& at_sizes() const;
  // The same for other instances, at the first of them.
  Context of(std::shared_ptr<const Instances> others) const;
  // One for each of the sizes across the ranges; none where a number of the graph is no formula of them.
  const std::vector<Context>& across() const;
  const Sizes& sizes() const { return instances->all[0].sizes; }  // the graph's
  // Does a number of the graph depend on the sizes of a call?
  template <class Of>
  bool varies(Of of) const {
    return instances && std::ranges::any_of(instances->all, [&](const Instance& each) {
             return of(each.graph) != of(instances->all[0].graph);
           });
  }
  // The same for code that must be one at all sizes. Filled: of a GPU that every call fills, where decisions
  // by how many of its multiprocessors have work are the same.
  const Context& writing(bool filled, int64_t widest) const;

 private:
  mutable std::shared_ptr<const std::vector<Context>> at_sizes_;  // made when first asked for
  mutable std::shared_ptr<const std::vector<Context>> across_;
  mutable std::map<std::pair<bool, int64_t>, std::shared_ptr<const Context>> writing_;
  std::shared_ptr<const GpuSpec> own_gpu_;
};

}  // namespace stitch::plan
