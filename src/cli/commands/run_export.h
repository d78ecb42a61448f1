// stitchcuda runs export: a run as a folder of files.
#pragma once

#include "cli/commands/runs.h"
#include "store/run_store.h"

namespace stitch {

Result<int> export_run(const RunsCommand& command, const store::RunStore& store, const store::Run& run,
                       Console& console);

}  // namespace stitch
