// Everything that a decision of the Planner or the Coder may depend on, passed as one argument.
#pragma once

#include "gpu/gpu_spec.h"
#include "graph/graph.h"
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
  Rounding rounding;  // which nodes may lose bits
  bool lean = false;  // as little memory as techniques and branches can do with, whatever it costs
};

}  // namespace stitch::plan
