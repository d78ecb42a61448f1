// One optimisation as a page: where the speed came from, what the device did before and after, and how we
// know.
#pragma once

#include <string>

#include "base/json.h"

namespace stitch {

// `run`: what optimize --json prints.
std::string optimize_page(const Json& run);

// Parts of it, for other pages. `ledger`: to_json(Ledger).
std::string ledger_part(const Json& ledger);
// Kernels of one call before and after: "verdict" of `run`, and "plain_profile".
std::string timeline_part(const Json& run);
// A gate's evidence; null: there is none.
const Json* evidence_of(const Json& verdict, std::string_view gate);

}  // namespace stitch
