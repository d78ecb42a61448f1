// stitchcuda runs show: one run, its steps and what became of them.
#pragma once

#include "base/json.h"
#include "cli/console.h"
#include "store/run_store.h"

namespace stitch {

Result<int> show_run(const store::RunStore& store, const store::Run& run, Console& console);

// Everything about a run: what `runs show --json` prints, and each attempt's verdict and its changes to the
// best program before it, and what was said to LLMs. `runs page` draws it, `runs export` writes it as
// run.json.
Result<Json> run_document(const store::RunStore& store, const store::Run& run);

// What every command says of a run, in the same words.
Json json_of(const store::Run& run);
Style style_of(store::RunState state);
std::string minute_of(const std::string& utc);         // 2026-11-16 15:04
std::string a_call(const store::RunSummary& summary);  // "~" before an estimate
std::string machine_of(const store::RunStart& start);  // H200, emulated

}  // namespace stitch
