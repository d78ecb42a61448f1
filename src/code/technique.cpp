#include "code/technique.h"

namespace stitch::code {

Result<void> Technique::can_write(const plan::Context& context, const plan::Plan& plan,
                                  const plan::Region& region) const {
  if (takes_source()) return {};
  const RegionRequest request = request_alone(context, region, &plan);
  STITCH_TRY(const RegionCode code, write(request));
  return check_packed(request, code, plan);
}

}  // namespace stitch::code
