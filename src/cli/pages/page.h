// The report as one self-contained HTML page: the graph as a picture, and the tables beside it.
#pragma once

#include <string>

#include "cli/pages/report.h"

namespace stitch {

std::string report_page(const Report& report);

}  // namespace stitch
