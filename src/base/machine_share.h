// Parts of something that this machine has only so much of: whoever wants more than is left waits.
#pragma once

#include <string>
#include <vector>

#include "base/file_lock.h"

namespace stitch {

class MachineShare {
 public:
  // Waits until `wanted` of `all` parts of the thing called `name` are nobody else's.
  static Result<MachineShare> take(const std::string& name, int wanted, int all);
  size_t parts() const { return locks_.size(); }

 private:
  MachineShare() = default;
  std::vector<FileLock> locks_;  // one for each part
};

}  // namespace stitch
