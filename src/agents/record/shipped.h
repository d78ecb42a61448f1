// The records beside a shipped program: verdict, ledger and receipt, and the figures in README.md.
#pragma once

#include <map>
#include <string>

#include "agents/optimize.h"

namespace stitch::agents {

// GPU, date, versions, error and speed, one per row.
std::vector<std::pair<std::string, std::string>> results_of(const Optimized& optimized, const Ledger& ledger,
                                                            const OptimizeOptions& options);

// verdict.json, ledger.json and, if it passed, receipt.json in the published folder. `places`: further
// folders of this machine whose paths are removed from the records.
Result<void> write_records(const Optimized& optimized, const Ledger& ledger, const Task& task,
                           const OptimizeOptions& options, std::vector<fs::path> places);

// Makes paths below these folders relative, in all texts.
void forget_places(Json& json, const std::vector<fs::path>& places);

// A program that is already in the output folder, by its .stitchcuda record.
using ProgramFacts = std::map<std::string, std::string>;

// The facts that a run with these options records about its program, except the time per call.
ProgramFacts facts_of(const OptimizeOptions& options, bool judged_fully);
// Why the existing program is better; empty if it isn't, or they can't be compared: another task, numerics
// class or measure. Without times, only how they were verified counts.
std::string why_better(const ProgramFacts& there, const ProgramFacts& fresh);

// Checks before the work that the folder is writable and holds no better program.
Result<void> check_place(const OptimizeOptions& options);

}  // namespace stitch::agents
