// Where the speed came from: each step's predicted and measured gain.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"

namespace stitch::agents {

// Left out: predicted to lose. Cut off: the budget was spent before it could be tried.
enum class Fate : uint8_t { tried, left_out, cut_off };

struct LedgerEntry {
  std::string step, why;
  double predicted_gain = 0;     // seconds
  double before = 0, after = 0;  // seconds a call; measured, or estimated
  bool kept = false;
  std::string reason;                       // why it was rolled back
  double seconds = 0;                       // that the step took us
  std::map<std::string, int64_t> settings;  // of the program that it changed
  Fate fate = Fate::tried;
};

struct Ledger {
  bool measured = false;  // otherwise estimates: an emulated GPU's times mean nothing
  std::vector<LedgerEntry> entries;
};

// "fc1_matmul.algorithm = 3, …": what a step says of settings.
std::string settings_text(const std::map<std::string, int64_t>& settings);
// Steps that were not tried because the budget was spent, by name.
std::vector<std::string> cut_off(const Ledger& ledger);
Json to_json(const Ledger& ledger);
std::string table(const Ledger& ledger, const Terminal& terminal);

}  // namespace stitch::agents
