// Regions that differ in names alone have one kernel: equal blocks of a network are compiled once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "code/region_code.h"

namespace stitch::code {

// What a region is without names: its technique, its nodes, and how its places lie. Families write regions
// with the same structure alike.
std::string structure_of(const RegionRequest& request);

// Regions written so far, by their structure.
class SharedKernels {
 public:
  // The earlier region whose functions this one calls with pointers of its own; `code` then has no source.
  // Nothing: its own functions, which later ones may call.
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
