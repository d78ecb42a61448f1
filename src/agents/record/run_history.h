// A recorded run: its steps in order, each with its attempts and the step whose program it started from. Read
// from the store's events.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/loop/ledger.h"
#include "agents/roles.h"
#include "base/json.h"
#include "store/memory.h"
#include "store/run_store.h"

namespace stitch::agents {

struct PastAttempt {
  int number = 1;  // at its step
  std::string outcome;
  std::map<std::string, std::string> sources;  // hashes by path; empty: none were written
  std::string verdict;                         // hash; empty: none
  double elapsed = 0;                          // seconds into the run
};

struct PastStep {
  std::string name, why;
  std::string plan;  // hash of its document; empty: it was not tried
  double predicted_gain = 0;
  std::vector<PastAttempt> attempts;
  std::shared_ptr<const Json> entry;  // of the ledger; null: killed during the step
  int base = -1;                      // the step that was the best before it; -1: none
  bool kept = false;
};

struct PastRun {
  std::string graph;  // hash of its text; empty: recorded by a version without it
  std::vector<PastStep> steps;
  std::vector<std::pair<std::string, std::string>>
      refused;  // steps not tried because of earlier runs, and why
  std::vector<std::string> warnings;
  std::vector<std::string> conversation;  // hashes of lines
  std::shared_ptr<const Json> tuning;     // null: none
  std::string program, verdict;           // where it was shipped to, and the verdict's hash
};

Result<PastRun> read_history(const store::RunStore& store, const store::Run& run);
// The step whose program is the best; -1: none.
int best_step(const PastRun& run);
// The texts of an attempt's sources.
Result<std::map<std::string, std::string>> sources_of(const store::RunStore& store,
                                                      const PastAttempt& attempt);
Json to_json(const PastRun& run);

// What a run records for later runs: observations of its steps, of the regions they changed, and of the
// shipped program.

// The same for all observations of a run.
struct Observer {
  std::string origin, machine, version;
  bool measured = false;
};
// The machine that times and failures apply to.
std::string machine_name(const GpuSpec& gpu, bool emulated);

// Observations of a tried step; none if the outcome says nothing about the step: interrupted, or a failure of
// the machine. `number` is the first one's.
std::vector<store::Observation> observe_step(const Observer& observer, const plan::Context& context,
                                             const plan::Plan& plan, const plan::Plan* base,
                                             const LedgerEntry& entry, int64_t number);
store::Observation observe_program(const Observer& observer, const plan::Context& context,
                                   const plan::Plan& plan, const std::map<std::string, int64_t>& settings,
                                   double seconds, int64_t number);

// A step's name in observations. What one model wrote badly another may write well: `author` as of
// Coder::author().
std::string observed_step(const std::string& step, const std::string& author);
// Technique with offer, and the chosen knobs or the source, as named in observations.
std::string technique_of(const plan::Region& region);
std::string knobs_of(const plan::Region& region);

// Was the step itself at fault, not the circumstances of the run? Slower counts if it was measured.
bool is_refusal(const store::Observation& observation);

}  // namespace stitch::agents
