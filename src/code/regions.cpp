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

const Family* find_family(std::string_view technique) {
  for (std::span<const Family> families : {loops::loop_families(), product_families()})
    for (const Family& family : families)
      if (family.technique == technique) return &family;
  return nullptr;
}

}  // namespace stitch::code
