// A program for ranges of sizes at others than the task's own: at both ends, and at secret ones in between.
#pragma once

#include "import/task.h"
#include "verify/session.h"
#include "verify/verdict.h"

namespace stitch::verifier {

// Adds to a verdict that passed: the sizes that passed too and, on a GPU, times at some of them; or the gate
// that failed at one. A program for one size, of a task that declares no others, stays as it is.
Result<void> judge_at_other_sizes(Verdict& verdict, const Task& task, const VerifyOptions& options);

}  // namespace stitch::verifier
