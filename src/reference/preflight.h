// What judging a program for a task will need, by its graph alone: before anything long begins.
#pragma once

#include "base/machine/machine_memory.h"
#include "graph/graph.h"
#include "runner/candidate.h"

namespace stitch::verifier {

struct Needs {
  double program = 0;           // bytes: weights, inputs, outputs and intermediate results
  double reference = 0;         // bytes: the same in PyTorch, once in float64
  double emulated_seconds = 0;  // of judging one program on the emulated GPU, quickly: a rough estimate
};
Needs needs_of(const Graph& graph);

struct Room {
  MachineMemory host;
  int64_t gpu = 0;  // bytes; 0: none, or unknown
};
Room room_here(runner::Device device);

// An error if it can't fit, with the sizes. What merely may not fit is no error.
Result<void> check_room(const Graph& graph, const Needs& needs, const Room& room);

}  // namespace stitch::verifier
