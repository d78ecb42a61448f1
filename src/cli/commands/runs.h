// stitchcuda runs: what earlier runs of optimize did, and going on with one that was cut short.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/console.h"
#include "store/run_store.h"

namespace stitch {

struct RunsCommand {
  std::string action;             // list, show, diff, resume, export, page, remove
  std::vector<std::string> runs;  // ids, or beginnings of them
  std::string store, out;
  int most = 30;  // rows of the list; 0: all
  bool force = false;
};

Result<int> run_runs(const RunsCommand& command, Console& console);

// The file that --store names, or the usual one; empty: runs are not kept ("none").
fs::path store_file(const std::string& named);

// One run, its steps and what became of them.
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

// A run as a folder of files.
Result<int> export_run(const RunsCommand& command, const store::RunStore& store, const store::Run& run,
                       Console& console);

}  // namespace stitch
