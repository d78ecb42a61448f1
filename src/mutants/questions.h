// How blind are the Verifier's questions, whatever program comes? Mutants of the tasks' graphs
// (verify/adequacy).
#pragma once

#include "base/terminal/terminal.h"
#include "mutants/workbench.h"

namespace stitch::mutants {

// A record: {task, mutants, told_apart, by_direction, not_asked, unproven, trials, seconds, …}, or {task,
// error}.
Json questions_about(const fs::path& task, const BenchOptions& options);
// A line a task, the sum, then what is unproven by name.
std::string questions_text(const std::vector<Json>& records, const Terminal& terminal);

}  // namespace stitch::mutants
