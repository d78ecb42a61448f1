// A share of the GPU's memory: verifications side by side wait for each other instead of failing.
#pragma once

#include "base/machine/file_lock.h"
#include "graph/graph.h"
#include "program/manifest.h"

namespace stitch::verifier {

// What a verification of tensors like these has on the GPU at once, by and large: three processes; of the
// candidate inputs and outputs twice, weights, and what it packed of them; what both sides share; of the
// reference two truths and an evaluation in float64, which takes twice the graph's peak.
double gpu_bytes_of(const Signature& signature, double peak_bytes);

// Waits until that much of the GPU's memory is not taken by others.
Result<MachineShare> take_gpu_memory(const Graph& graph, const Signature& signature, double total);

}  // namespace stitch::verifier
