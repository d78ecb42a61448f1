// Many subjects, many mutants: who judges what when, and what is written down of it.
#pragma once

#include <functional>
#include <set>

#include "base/json.h"
#include "mutants/workbench.h"

namespace stitch::mutants {

struct CampaignOptions {
  std::vector<Subject> subjects;
  size_t per_program = 20;
  size_t most = 0;  // mutants in all; 0: as many as there are
  // These alone, by program and mutant: what survived an earlier campaign, say. Empty: a sample.
  std::set<std::pair<std::string, std::string>> only;
  int jobs = 1;
  double seconds = 0;  // after which no mutant is begun; 0: no limit
  bool sanitize_survivors = false;
  BenchOptions bench;
  fs::path out;  // results.jsonl in it
  std::function<bool()> should_stop;
  // From the threads that judge, one at a time.
  std::function<void(const Json& record)> on_judged;
  std::function<void(std::string_view text)> on_notice;
};

struct Campaign {
  std::vector<Json> records;          // all of results.jsonl that belong to this campaign
  size_t earlier = 0;                 // of them, from an earlier run
  std::vector<std::string> left_out;  // subjects whose original did not pass, with the reason
  bool stopped = false;
};

// Those of a results.jsonl that passed every gate: they can be judged again by a Verifier that sees more.
Result<std::set<std::pair<std::string, std::string>>> survivors_in(const fs::path& results);

// Goes on where an earlier run in the same folder was ended. An Error: the folder can't be written, or the
// earlier run had other settings.
Result<Campaign> run_campaign(const CampaignOptions& options);

}  // namespace stitch::mutants
