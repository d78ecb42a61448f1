#include "code/region_code.h"

#include <algorithm>

#include "code/names.h"

namespace stitch::code {

const Place* RegionRequest::find(ValueId value) const {
  for (const auto* list : {&reads, &weights, &writes})
    for (const Place& place : *list)
      if (place.value == value) return &place;
  return nullptr;
}

namespace {

// A name without its common prefix with another.
std::string without_common_words(const std::string& name, const std::string& other) {
  size_t same = 0;
  for (size_t i = 0; i < name.size() && i < other.size() && name[i] == other[i]; ++i)
    if (name[i] == '_' || (i + 1 == other.size() && name[i + 1] == '_')) same = i + 1;
  return name.substr(same).starts_with('_') ? name.substr(same + 1) : name.substr(same);
}

}  // namespace

std::string RegionRequest::own_name(const Place& place) const {
  const std::string own = without_common_words(place.pointer, name);
  for (const auto* list : {&reads, &weights, &writes})
    for (const Place& other : *list)
      if (other.pointer != place.pointer && without_common_words(other.pointer, name) == own)
        return name + "_" + place.pointer;
  return name + "_" + own;
}

Packed packed_memory(std::string name, DType type, int64_t elements, std::optional<PackCall> fill) {
  return {std::move(name), std::string(element_type(type)), size_of(type), elements, std::move(fill)};
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
