// Everything a decision of the Planner's or the Coder's may depend on, handed in.
#pragma once

#include "device/gpu_spec.h"
#include "graph/graph.h"
#include "graph/numerics.h"
#include "plan/rounding.h"

namespace stitch::plan {

struct Context {
  Context(const Graph& of, const GpuSpec& on, Numerics within, ReferenceFacts seen = {})
      : graph(of), gpu(on), numerics(within), torch(std::move(seen)), rounding(of, within, torch) {}

  const Graph& graph;
  const GpuSpec& gpu;  // all of the machine's numbers; nobody else has any
  Numerics numerics;
  ReferenceFacts torch;
  Rounding rounding;  // which nodes may lose bits
};

}  // namespace stitch::plan
