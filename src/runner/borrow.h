// Python candidates as forks of a process that has imported PyTorch
// (python/stitchcuda_torch/lend/candidates.py): tenths of a second instead of ten. The fork confines itself
// before it reads a request.
#pragma once

#include <span>
#include <string>

#include "base/machine/descriptor.h"
#include "base/machine/process.h"
#include "sandbox/sandbox.h"

namespace stitch::runner {

// A process forked by the server. It ends when the connection closes; the server reports its exit status.
struct Borrowed {
  Descriptor connection;
  pid_t pid = -1;
  // Its wait status; empty if it still runs after `patience`.
  std::optional<int> status(std::chrono::milliseconds patience) const;
  // Waits until a killed process is gone.
  void wait_until_gone() const;
};

// Borrows a fork from the server at $STITCHCUDA_CANDIDATE_LENDER and hands it descriptors 0-5. Empty if there
// is no server, or it runs another Python.
std::optional<Borrowed> borrow(const fs::path& python, const sandbox::ForkConfinement& confinement,
                               std::span<const int> descriptors);

class CandidateLender {
 public:
  // Starts the server, waits until it is ready (seconds) and sets STITCHCUDA_CANDIDATE_LENDER, so call it
  // before starting threads. Does nothing if a server runs already or the walls can't confine forks.
  static Result<CandidateLender> start(const fs::path& python);

 private:
  std::optional<ScratchFolder> folder_;
  std::optional<Child> child_;
};

}  // namespace stitch::runner
