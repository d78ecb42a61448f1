// The ledger: each step's predicted and measured gain, and its outcome.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/loop/router.h"
#include "base/json.h"
#include "base/terminal/terminal.h"
#include "plan/cost/pytorch.h"

namespace stitch::agents {

// One try at a step.
struct LedgerTry {
  Outcome outcome = Outcome::not_tried;
  double seconds = 0;  // per call; 0: it failed
  int base = -1;       // the try that it revised; -1: none
  std::string author;  // empty: the built-in techniques
  std::string why;     // why it was not kept, in one line
};

struct LedgerEntry {
  std::string step, why;
  double predicted_gain = 0;     // seconds
  double before = 0, after = 0;  // seconds per call; measured, or estimated
  Outcome outcome = Outcome::not_tried;
  std::optional<verifier::GateReport> report;    // of the failed gate
  std::optional<Error> no_verdict;               // why there is none
  int tries = 0;                                 // programs that were judged
  std::vector<LedgerTry> tree;                   // all tries, including answers without a program
  double seconds = 0;                            // wall time of the step
  std::map<std::string, int64_t> settings;       // of the program that it changed
  std::map<std::string, double> region_seconds;  // of the program that was judged last, where measured
  std::string bottleneck;                        // of the program that was judged last; empty: not known
  std::string note;                              // further explanation for the report

  bool kept() const { return outcome == Outcome::better; }
};

struct Ledger {
  bool measured = false;          // otherwise estimates: an emulated GPU's times mean nothing
  plan::PyTorchEstimate pytorch;  // to compare estimates with; unknown where times are measured
  std::vector<LedgerEntry> entries;
};

// Steps that were not tried because the budget was spent, by name.
std::vector<std::string> cut_off(const Ledger& ledger);
// Why a step was not kept.
std::string reason(const LedgerEntry& entry);
// "fc1_matmul.algorithm = 3, …": the settings of a step.
std::string settings_text(const std::map<std::string, int64_t>& settings);
Json to_json(const LedgerEntry& entry);
Json to_json(const Ledger& ledger);
std::string table(const Ledger& ledger, const Terminal& terminal);

}  // namespace stitch::agents
