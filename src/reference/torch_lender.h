// PyTorch imported once for everything that this process starts: stitchcuda_torch.lend forks for each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/process.h"
#include "runner/borrow.h"

namespace stitch::verifier {

class TorchLender {
 public:
  // Waits until it is ready: seconds. Sets STITCHCUDA_TORCH_LENDER, so before any other thread is started;
  // does nothing where one is running already. `tasks`: packages that these import are loaded, too. An Error:
  // each process imports its own.
  static Result<TorchLender> start(const std::string& python, const std::vector<fs::path>& tasks = {});
  TorchLender(TorchLender&& other) noexcept;
  TorchLender& operator=(TorchLender&&) = delete;
  ~TorchLender();

 private:
  TorchLender() = default;
  std::optional<ScratchFolder> folder_;
  std::optional<Child> child_;
};

// The same for Python candidates, behind their walls (runner/borrow.h). Nothing: everyone imports their own.
std::optional<runner::CandidateLender> lend_to_candidates(const std::string& python);

}  // namespace stitch::verifier
