// Regions that differ only in names share one kernel: repeated blocks of a network are compiled once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "code/region_code.h"

namespace stitch::code {

// A region without names: technique, nodes and the layout of its places. Techniques generate the same code
// for the same structure.
std::string structure_of(const RegionRequest& request);

// Regions written so far, by their structure.
class SharedKernels {
 public:
  // The earlier region whose functions this one calls with its own pointers; `code` then has no source.
  // Nothing: it has its own functions, which later regions may call.
  std::optional<size_t> find(const RegionRequest& request, size_t region, RegionCode& code);

 private:
  struct Written {
    size_t region;
    std::vector<std::string> places;
    RegionCode code;
  };
  std::map<std::string, Written> written_;
};

}  // namespace stitch::code
