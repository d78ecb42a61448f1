// A share of the GPU's memory: large verifications side by side wait for each other instead of failing.
#pragma once

#include <vector>

#include "base/result.h"
#include "program/manifest.h"

namespace stitch::verifier {

// What a verification of tensors like these has on the GPU at once, by and large: the candidate's inputs and
// outputs twice, two truths, the inputs of an evaluation in float64, and what it shares with the reference.
double gpu_bytes_of(const Signature& signature);

class GpuShare {
 public:
  // Waits until that much of `total` is not taken by others. The kernel gives it back when the holder dies.
  static Result<GpuShare> take(double bytes, double total);
  GpuShare(GpuShare&& other) noexcept : descriptors_(std::exchange(other.descriptors_, {})) {}
  GpuShare& operator=(GpuShare&&) = delete;
  ~GpuShare();
  size_t parts() const { return descriptors_.size(); }

 private:
  explicit GpuShare(std::vector<int> descriptors) : descriptors_(std::move(descriptors)) {}
  std::vector<int> descriptors_;  // a locked file for each part
};

}  // namespace stitch::verifier
