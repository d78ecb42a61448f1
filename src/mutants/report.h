// A campaign's results: mutants killed by gate, and survivors.
#pragma once

#include "base/terminal/terminal.h"
#include "mutants/campaign.h"

namespace stitch::mutants {

struct Counts {
  size_t killed = 0, survived = 0, same_results = 0, equivalent = 0, not_compiled = 0, not_judged = 0;
  // Mutants that compile to something other than the original.
  size_t counted() const { return killed + survived + same_results; }
  double share_killed() const;
};
Counts count(const std::vector<Json>& records);

// Tables by kind, by gate and by program, then the survivors.
std::string report_text(const Campaign& campaign, const Terminal& terminal);
Json report_json(const Campaign& campaign);

}  // namespace stitch::mutants
