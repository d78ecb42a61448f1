// What the author of a region's source must know.
#pragma once

#include <string>

#include "plan/document/document.h"

namespace stitch::serve {

struct RegionNeeds {
  std::string region;
  std::string function;              // that a source has to define, by name
  std::string signature;             // and whole, with shapes
  std::string places;                // the memory layout of its arguments
  std::string in_pytorch, in_graph;  // what it computes
  std::string technique;             // that the plan has for it
};

// An error names the regions that there are.
Result<RegionNeeds> needs_of(const plan::GivenPlan& given, const std::string& region);

}  // namespace stitch::serve
