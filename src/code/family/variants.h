// The code of a region that has other techniques at some sizes.
#pragma once

#include "code/family/unify.h"
#include "code/region_code.h"

namespace stitch::code {

struct VariantCode {
  plan::Variant variant;
  std::string name;  // its functions', "fc1_up_to_12"
  RegionCode code;   // for all of its sizes
};
// fc1_up_to_12, fc1_from_65, fc1_13_to_64; and fc1_otherwise.
std::string name_of(const std::string& region, const plan::Variant& variant);
inline std::string name_otherwise(const std::string& region) { return region + "_otherwise"; }

// One code from those of several sizes. An error: what differs isn't a number of the source.
Result<RegionCode> unified(const SizeTable& table, const std::vector<RegionCode>& codes);

// All of them, and enqueue_NAME, which picks one by the sizes of a call. `own` has the name otherwise.
RegionCode with_variants(const std::string& name, RegionCode own, const std::vector<VariantCode>& others);

}  // namespace stitch::code
