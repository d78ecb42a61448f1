// stitchcuda runs page: one run as a self-contained page: which steps stand on which, and every attempt with
// its difference to the program it started from, its verdict, and what was said to an LLM.
#pragma once

#include "cli/commands/runs.h"
#include "store/run_store.h"

namespace stitch {

Result<std::string> run_page(const store::RunStore& store, const store::Run& run);
Result<int> write_run_page(const RunsCommand& command, const store::RunStore& store, const store::Run& run,
                           Console& console);

}  // namespace stitch
