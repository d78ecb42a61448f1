// Parts of something that this machine has only so much of: whoever wants more than is left waits.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stitch {

class MachineShare {
 public:
  // Waits until `wanted` of `all` parts of the thing called `name` are nobody else's. The kernel gives them
  // back when the holder dies: they are locked files in the cache's folder.
  static Result<MachineShare> take(const std::string& name, int wanted, int all);
  MachineShare(MachineShare&& other) noexcept : descriptors_(std::exchange(other.descriptors_, {})) {}
  MachineShare& operator=(MachineShare&&) = delete;
  ~MachineShare();
  size_t parts() const { return descriptors_.size(); }

 private:
  explicit MachineShare(std::vector<int> descriptors) : descriptors_(std::move(descriptors)) {}
  std::vector<int> descriptors_;  // a locked file for each part
};

}  // namespace stitch
