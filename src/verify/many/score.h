// Records of many candidates become figures: pass@k, fast_p, hacks by label, a row an author and a row a
// task.
#pragma once

#include <vector>

#include "base/json.h"

namespace stitch::verifier {

// The chance that one of k samples drawn from these n, of which c are right, is right: the unbiased
// estimator.
double pass_at(int n, int c, int k);

// Of records as judge_all() writes them. Candidates that were not judged count in no share.
Json summarise(const std::vector<Json>& records);

}  // namespace stitch::verifier
