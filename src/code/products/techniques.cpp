#include "code/products/techniques.h"

#include "plan/cost/estimate.h"

namespace stitch::code {

namespace {

Error named(const Technique& technique, const plan::Region& region, Error error) {
  if (!error.where.empty()) return error;
  error.message = format("{} {}", technique.name(), error.message);
  return at(region.name, std::move(error));
}

}  // namespace

Error not_for(const plan::Region&, std::string why) { return user_error("technique", std::move(why)); }

Result<void> ProductTechnique::accepts(const plan::Context& context, const plan::Region& region) const {
  if (auto accepted = accepts_region(context, region); !accepted)
    return named(*this, region, std::move(accepted).error());
  return {};
}

Result<RegionCode> ProductTechnique::write(const RegionRequest& request) const {
  auto code = write_region(request);
  if (!code) return named(*this, request.region, std::move(code).error());
  return code;
}

plan::Rate plain_rate(const plan::Context& context) { return {0.1 * context.gpu.fp32, 0.5, 2}; }

plan::Rate streaming_rate(const plan::Context& context) {
  return {context.gpu.fp32, plan::streaming_share, 1};
}

}  // namespace stitch::code
