#include "code/region_code.h"

#include <algorithm>

namespace stitch::code {

const Place* RegionRequest::find(ValueId value) const {
  for (const auto* list : {&reads, &weights, &writes})
    for (const Place& place : *list)
      if (place.value == value) return &place;
  return nullptr;
}

std::string add_setting(RegionCode& code, const plan::Region& region, const std::string& owner,
                        const std::string& what, std::string type, std::vector<int64_t> values,
                        int64_t otherwise) {
  Setting setting{owner + "." + what, owner + "_" + what, std::move(type), std::move(values), otherwise};
  const int64_t planned = region.choice(what, otherwise);
  if (std::ranges::find(setting.values, planned) != setting.values.end()) setting.value = planned;
  code.settings.push_back(std::move(setting));
  return code.settings.back().variable;
}

}  // namespace stitch::code
