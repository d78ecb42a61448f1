// Parses ptxas's report on each kernel (-Xptxas=-v).
#pragma once

#include <string_view>
#include <vector>

#include "build/build.h"

namespace stitch::build {

std::vector<KernelResources> parse_resources(std::string_view output);

}  // namespace stitch::build
