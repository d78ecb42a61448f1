// The re-runnable record of a result.
#pragma once

#include "verify/session.h"
#include "verify/verdict.h"

namespace stitch::verifier {

// Hashes of everything that was read and built, the machine, the versions, the verdict with its raw samples.
Result<void> write_receipt(const fs::path& path, const Session& session, const Verdict& verdict);

struct ReceiptParts {
  fs::path program;          // as it lies there now
  std::string library_hash;  // of what was judged; empty: a Python file
  const VerifyOptions& options;
  const Task& task;
  bool moves = false;  // it lies in the program's folder and goes with it: no paths of this machine
};
Result<Json> receipt_document(const ReceiptParts& parts, const Verdict& verdict);
// Files of a program's folder that tell of it and are no part of it: README.md, verdict.json and their like.
bool is_about_program(std::string_view file);

struct ReceiptCheck {
  std::vector<std::string> differences;  // what is no longer as it was recorded
  std::optional<Verdict> verdict;        // of the repetition; none if files differ
  double recorded_seconds = 0, seconds = 0;
  bool passed = false;
};
struct ReceiptOptions {
  fs::path receipt;
  fs::path program, task;        // where they are now; empty: where they were
  Mode mode = Mode::as_written;  // that the receipt has to be of
  std::string python;
  double tolerance = 0.1;  // on the program's time
  std::function<void(std::string_view)> on_progress;
  std::function<void(std::string_view)> on_warning;
};
Result<ReceiptCheck> check_receipt(const ReceiptOptions& options);

}  // namespace stitch::verifier
