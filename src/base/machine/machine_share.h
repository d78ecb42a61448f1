// Shares of a limited resource of this machine: a process that needs more than is left waits.
#pragma once

#include <string>
#include <vector>

#include "base/machine/file_lock.h"

namespace stitch {

class MachineShare {
 public:
  // Waits until `wanted` of `all` parts of the resource `name` are free.
  static Result<MachineShare> take(const std::string& name, int wanted, int all);
  size_t parts() const { return locks_.size(); }

 private:
  MachineShare() = default;
  std::vector<FileLock> locks_;  // one for each part
};

}  // namespace stitch
