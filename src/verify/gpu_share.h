// A share of the GPU's memory: large verifications side by side wait for each other instead of failing.
#pragma once

#include "base/machine_share.h"
#include "program/manifest.h"

namespace stitch::verifier {

// What a verification of tensors like these has on the GPU at once, by and large: the candidate's inputs and
// outputs twice, two truths, the inputs of an evaluation in float64, and what it shares with the reference.
double gpu_bytes_of(const Signature& signature);

// Waits until that much of `total` is not taken by others.
Result<MachineShare> take_gpu_memory(double bytes, double total);

}  // namespace stitch::verifier
