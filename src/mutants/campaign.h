// Runs many mutants of many subjects and records the results.
#pragma once

#include <functional>
#include <set>

#include "base/json.h"
#include "base/terminal/terminal.h"
#include "mutants/workbench.h"

namespace stitch::mutants {

struct CampaignOptions {
  std::vector<Subject> subjects;
  size_t per_program = 20;
  size_t most = 0;  // mutants in all; 0: as many as there are
  // Only these, by program and mutant, e.g. survivors of an earlier campaign. Empty: a sample.
  std::set<std::pair<std::string, std::string>> only;
  int jobs = 1;
  double seconds = 0;  // no mutant is started after this; 0: no limit
  bool sanitize_survivors = false;
  BenchOptions bench;
  fs::path out;  // folder of results.jsonl
  std::function<bool()> should_stop;
  // Called by the judging threads, one at a time.
  std::function<void(const Json& record)> on_judged;
  std::function<void(std::string_view text)> on_notice;
};

struct Campaign {
  std::vector<Json> records;          // all records of this campaign in results.jsonl
  size_t earlier = 0;                 // of them, from an earlier run
  std::vector<std::string> left_out;  // subjects whose original did not pass, with the reason
  bool stopped = false;
};

// Mutants in a results.jsonl that passed every gate, to be judged again by a stricter Verifier.
Result<std::set<std::pair<std::string, std::string>>> survivors_in(const fs::path& results);

// Resumes an earlier run in the same folder. An Error: the folder can't be written, or the earlier run had
// other settings.
Result<Campaign> run_campaign(const CampaignOptions& options);

// How blind are the Verifier's questions, whatever program comes? Mutants of the tasks' graphs
// (verify/adequacy).

// A record: {task, mutants, told_apart, by_direction, not_asked, unproven, trials, seconds, …}, or {task,
// error}.
Json questions_about(const fs::path& task, const BenchOptions& options);
// A line a task, the sum, then what is unproven by name.
std::string questions_text(const std::vector<Json>& records, const Terminal& terminal);

}  // namespace stitch::mutants
