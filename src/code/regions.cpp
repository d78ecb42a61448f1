#include <algorithm>

#include "code/loops/families.h"
#include "code/products/families.h"
#include "code/region_code.h"

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
  if (auto planned = region.settings.find(what); planned != region.settings.end())
    if (std::ranges::find(setting.values, planned->second) != setting.values.end())
      setting.value = planned->second;
  code.settings.push_back(std::move(setting));
  return code.settings.back().variable;
}

const Family* find_family(std::string_view technique) {
  for (std::span<const Family> families : {loops::loop_families(), product_families()})
    for (const Family& family : families)
      if (family.technique == technique) return &family;
  return nullptr;
}

}  // namespace stitch::code
