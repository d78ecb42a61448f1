#include "code/technique.h"

#include "code/family/sized_region.h"

namespace stitch::code {

Result<void> Technique::can_write(const plan::Context& context, const plan::Plan& plan,
                                  const plan::Region& region) const {
  if (takes_source() && context.takes_sizes())
    return user_error("technique", "a given source is for the sizes that it was written for");
  if (takes_source()) return {};
  if (context.takes_sizes()) {
    STITCH_CHECK(writing_for_all_sizes(*this, context, plan, region));
    return {};
  }
  const RegionRequest request = request_alone(context, region, &plan);
  STITCH_TRY(const RegionCode code, write(request));
  return check_packed(request, code, plan);
}

}  // namespace stitch::code
