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

std::vector<plan::Offer> ProductTechnique::offers(const Context& context, const Region& region) const {
  return row_.offers ? row_.offers(context, region) : Technique::offers(context, region);
}
bool ProductTechnique::is_exact(const plan::Offer& offer) const {
  return row_.is_exact ? row_.is_exact(offer) : Technique::is_exact(offer);
}
bool ProductTechnique::suits(const Context& context, const Region& region, const plan::Offer& offer) const {
  return row_.suits ? row_.suits(context, region, offer) : Technique::suits(context, region, offer);
}
bool ProductTechnique::gives_way(const Context& context, const Region& region) const {
  return row_.gives_way ? row_.gives_way(context, region) : Technique::gives_way(context, region);
}
std::vector<plan::Knob> ProductTechnique::knobs(const Context& context, const Region& region) const {
  return row_.knobs ? row_.knobs(context, region) : Technique::knobs(context, region);
}
Result<void> ProductTechnique::accepts_storage(const Context& context, const Plan& plan,
                                               const Region& region) const {
  if (!row_.accepts_storage) return {};
  if (auto accepted = row_.accepts_storage(context, plan, region); !accepted)
    return named(*this, region, std::move(accepted).error());
  return {};
}
std::vector<ValueId> ProductTechnique::row_major_values(const Context& context, const Region& region,
                                                        const plan::Movable& movable,
                                                        int64_t element_bytes) const {
  return row_.row_major_values ? row_.row_major_values(context, region, movable, element_bytes)
                               : Technique::row_major_values(context, region, movable, element_bytes);
}
std::optional<plan::TruncatedSums> ProductTechnique::truncated_sums(const Context& context,
                                                                    const Region& region) const {
  return row_.truncated_sums ? row_.truncated_sums(context, region)
                             : Technique::truncated_sums(context, region);
}
double ProductTechnique::added_error(const Context& context, const Region& region) const {
  return row_.added_error ? row_.added_error(context, region) : Technique::added_error(context, region);
}
std::optional<plan::Leaner> ProductTechnique::leaner(const Context& context, const Region& region) const {
  return row_.leaner ? row_.leaner(context, region) : Technique::leaner(context, region);
}
double ProductTechnique::scratch_bytes(const Context& context, const Region& region) const {
  return row_.scratch_bytes ? row_.scratch_bytes(context, region) : Technique::scratch_bytes(context, region);
}
std::optional<double> ProductTechnique::kernel_bytes(const Context& context, const Region& region) const {
  return row_.kernel_bytes ? row_.kernel_bytes(context, region) : Technique::kernel_bytes(context, region);
}
double ProductTechnique::rearranged_bytes(const Context& context, const Plan& plan,
                                          const Region& region) const {
  return row_.rearranged_bytes ? row_.rearranged_bytes(context, plan, region)
                               : Technique::rearranged_bytes(context, plan, region);
}
double ProductTechnique::latency(const Context& context, const Region& region) const {
  return row_.latency ? row_.latency(context, region) : Technique::latency(context, region);
}
plan::Precision ProductTechnique::operand_precision(const Context& context, const Region& region) const {
  return row_.operand_precision ? row_.operand_precision(context, region)
                                : Technique::operand_precision(context, region);
}
bool ProductTechnique::rounds_product(const Context& context, const Plan& plan, const Region& region) const {
  return row_.rounds_product ? row_.rounds_product(context, plan, region)
                             : Technique::rounds_product(context, plan, region);
}

plan::Rate plain_rate(const plan::Context& context) { return {0.1 * context.gpu.fp32, 0.5, 2}; }

plan::Rate streaming_rate(const plan::Context& context) {
  return {context.gpu.fp32, plan::streaming_share, 1};
}

}  // namespace stitch::code
