#include "reference/torch_lender.h"

#include <cstdlib>

#include "base/text.h"
#include "import/python.h"

namespace stitch::verifier {

namespace {

constexpr const char* variable = "STITCHCUDA_TORCH_LENDER";

}  // namespace

Result<TorchLender> TorchLender::start(const std::string& python, const std::vector<fs::path>& tasks) {
  TorchLender out;
  if (const char* there = std::getenv(variable); there && *there) return out;
  STITCH_TRY(ScratchFolder folder, ScratchFolder::create("stitchcuda-lender"));
  const std::string socket = (folder.path() / "socket").string();
  STITCH_TRY(fs::path program, find_python(python));
  std::vector<std::string> arguments = {socket};
  for (const fs::path& task : tasks) arguments.push_back(fs::absolute(task).string());
  STITCH_TRY(Command command, python_command(program, "stitchcuda_torch.lend", std::move(arguments)));
  STITCH_TRY(Child child, Child::start(command));
  for (;;) {
    auto line = child.read_line();
    if (!line) {
      const Finished finished = child.wait();
      return work_error("torch",
                        format("PyTorch can't be lent: {}", split(trim(finished.error_tail), '\n').back()),
                        "check it with: stitchcuda doctor");
    }
    if (trim(*line) == "ready") break;
  }
  ::setenv(variable, socket.c_str(), 1);
  out.folder_.emplace(std::move(folder));
  out.child_.emplace(std::move(child));
  return out;
}

std::optional<runner::CandidateLender> lend_to_candidates(const std::string& python) {
  auto program = find_python(python);
  auto lender = program ? runner::CandidateLender::start(*program) : program.error();
  return lender ? std::optional(*std::move(lender)) : std::nullopt;
}

TorchLender::TorchLender(TorchLender&& other) noexcept {
  if (other.folder_) folder_.emplace(std::move(*other.folder_));
  if (other.child_) child_.emplace(std::move(*other.child_));
  other.folder_.reset();
  other.child_.reset();
}

TorchLender::~TorchLender() {
  if (child_) ::unsetenv(variable);
}

}  // namespace stitch::verifier
