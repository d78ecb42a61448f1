// A recorded run: its steps in order, each with its attempts and the step whose program it started from. Read
// from the store's events.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
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

}  // namespace stitch::agents
