// The re-runnable record of a result, signed with the key of the installation that made it.
#pragma once

#include "base/digest/ed25519.h"
#include "graph/rewrite_limits.h"
#include "verify/session.h"
#include "verify/verdict.h"

namespace stitch::verifier {

struct ReceiptParts {
  fs::path program;          // as it lies there now
  std::string library_hash;  // of what was judged; empty: a Python file
  build::FilesRead read;     // by the compiler: those in the program's folder are covered, as they were then
  const VerifyOptions& options;
  const Task& task;
  bool moves = false;  // it lies in the program's folder and goes with it: no paths of this machine
};
// Hashes of everything that was read and built, the machine, the versions, the verdict with its raw samples.
Result<Json> receipt_document(const ReceiptParts& parts, const Verdict& verdict);
Result<void> write_receipt(const fs::path& path, const ReceiptParts& parts, const Verdict& verdict);
// Files of a program's folder that tell of it and are no part of it: README.md, verdict.json and their like.
bool is_about_program(std::string_view file);

struct ReceiptCheck {
  std::vector<std::string> differences;  // what is no longer as it was recorded, or can't be held here
  std::optional<Verdict> verdict;        // of the repetition; none if files differ
  bool claims_speed = false;             // the receipt has times; without, it holds for results alone
  double recorded_seconds = 0, seconds = 0;
  std::string signed_by;  // the public key
  bool passed = false;
};
// What the checker asks for. Nothing of how a program is judged comes from the receipt: one of another class
// or device doesn't hold.
struct ReceiptOptions {
  fs::path receipt;
  fs::path program, task;  // where they are now; empty: where they were
  Numerics numerics = Numerics::standard;
  runner::Device device = runner::Device::emulated;
  std::optional<KeyBytes> key;   // that it must be signed with; none: this installation's
  Mode mode = Mode::as_written;  // that the receipt has to be of
  std::string python;
  // Of the GPU that a program was planned for; null: of none.
  std::function<RewriteLimits(const fs::path& program)> limits;
  double tolerance = 0.1;  // on the program's time and its speedup
  std::function<void(std::string_view)> on_progress;
  std::function<void(std::string_view)> on_warning;
};
Result<ReceiptCheck> check_receipt(const ReceiptOptions& options);

}  // namespace stitch::verifier
