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

Result<void> ProductTechnique::accepts(const Context& context, const Region& region) const {
  if (auto accepted = row_.accepts(context, region); !accepted)
    return named(*this, region, std::move(accepted).error());
  return {};
}

Result<RegionCode> ProductTechnique::write(const RegionRequest& request) const {
  auto code = row_.write(request);
  if (!code) return named(*this, request.region, std::move(code).error());
  return code;
}

Result<void> ProductTechnique::accepts_storage(const Context& context, const Plan& plan,
                                               const Region& region) const {
  if (!row_.accepts_storage) return {};
  if (auto accepted = row_.accepts_storage(context, plan, region); !accepted)
    return named(*this, region, std::move(accepted).error());
  return {};
}

plan::Rate plain_rate(const plan::Context& context) { return {0.1 * context.gpu.fp32, 0.5, 2}; }

plan::Rate streaming_rate(const plan::Context& context) {
  return {context.gpu.fp32, plan::streaming_share, 1};
}

}  // namespace stitch::code
