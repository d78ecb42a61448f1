// The records beside a shipped program: verdict, ledger and receipt, and the figures in README.md.
#pragma once

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

}  // namespace stitch::agents
