// Python candidates as forks of a process that has imported PyTorch
// (python/stitchcuda_torch/lend_candidates.py): tenths of a second instead of ten. The fork puts up the same
// walls around itself before it hears of anything.
#pragma once

#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/process.h"
#include "sandbox/sandbox.h"

namespace stitch::runner {

// A process of somebody else's. It ends when the connection is closed, and tells there how it ended.
struct Borrowed {
  Descriptor connection;
  pid_t pid = -1;
  // Once it has ended: as waitpid tells it. Nothing within `patience`: it runs.
  std::optional<int> status(std::chrono::milliseconds patience) const;
  // Once it was killed: until it is gone.
  void wait_until_gone() const;
};

// From whom STITCHCUDA_CANDIDATE_LENDER names, with descriptors 0 to 5. Nothing where nobody lends, or where
// another interpreter is lent.
std::optional<Borrowed> borrow(const fs::path& python, const sandbox::ForkConfinement& confinement,
                               std::span<const int> descriptors);

class CandidateLender {
 public:
  // Waits until it is ready: seconds. Sets STITCHCUDA_CANDIDATE_LENDER, so before any other thread is
  // started; does nothing where somebody lends already, or where walls stand that hold no fork.
  static Result<CandidateLender> start(const fs::path& python);

 private:
  std::optional<ScratchFolder> folder_;
  std::optional<Child> child_;
};

}  // namespace stitch::runner
