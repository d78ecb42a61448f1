// One optimisation as a page: where the speed came from, what the device did before and after, and how we
// know.
#pragma once

#include <string>

#include "base/json.h"

namespace stitch {

// `run`: what optimize --json prints.
std::string optimize_page(const Json& run);

}  // namespace stitch
