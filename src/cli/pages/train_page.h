// A training run as a page: its curves, what was learned, how it compares.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace stitch {

// `document` as train --json prints it; `curve`: its points.
std::string train_page(const Json& document, const std::vector<Json>& curve);

}  // namespace stitch
