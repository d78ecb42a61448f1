// What goes with a shipped program: its verdict, its ledger and its receipt as files, and the figures of
// README.md.
#pragma once

#include "agents/optimize.h"

namespace stitch::agents {

// GPU, date, versions, error and speed, a row each.
std::vector<std::pair<std::string, std::string>> results_of(const Optimized& optimized,
                                                            const OptimizeOptions& options);

// verdict.json, ledger.json and, if it passed, receipt.json in the published folder. `places`: folders of
// this machine besides the usual ones, whose names go nowhere.
Result<void> write_records(const Optimized& optimized, const Ledger& ledger, const Task& task,
                           const OptimizeOptions& options, std::vector<fs::path> places);

// Texts that begin with one of these folders, or have one in them, are relative to it from now on.
void forget_places(Json& json, const std::vector<fs::path>& places);

}  // namespace stitch::agents
