// The techniques for products, convolutions, attention and recurrences: one file each.
#pragma once

#include "code/technique.h"

namespace stitch::code {

// A technique as a row: answers to the Planner's questions (plan/technique.h has what they mean and what
// holds for those left out), and the function that writes a region. Refusals name the region and the
// technique.
struct ProductRow {
  using Context = plan::Context;
  using Plan = plan::Plan;
  using Region = plan::Region;

  std::string_view name, idea;
  plan::Kind kind;
  plan::Entry entry = plan::Entry::fast;
  Result<void> (*accepts)(const Context&, const Region&);
  Result<RegionCode> (*write)(const RegionRequest&);
  plan::Rate (*rate)(const Context&, const Region&);
  std::vector<plan::Offer> (*offers)(const Context&, const Region&) = nullptr;
  bool (*is_exact)(const plan::Offer&) = nullptr;
  bool (*suits)(const Context&, const Region&, const plan::Offer&) = nullptr;
  bool (*gives_way)(const Context&, const Region&) = nullptr;
  std::vector<plan::Knob> (*knobs)(const Context&, const Region&) = nullptr;
  Result<void> (*accepts_storage)(const Context&, const Plan&, const Region&) = nullptr;
  bool has_free_epilogue = true, takes_any_order = false;
  std::vector<ValueId> (*row_major_values)(const Context&, const Region&, const plan::Movable&,
                                           int64_t) = nullptr;
  bool may_round_result = false;
  std::optional<plan::TruncatedSums> (*truncated_sums)(const Context&, const Region&) = nullptr;
  double (*added_error)(const Context&, const Region&) = nullptr;
  std::optional<plan::Leaner> (*leaner)(const Context&, const Region&) = nullptr;
  double (*scratch_bytes)(const Context&, const Region&) = nullptr;
  std::optional<double> (*kernel_bytes)(const Context&, const Region&) = nullptr;
  double (*rearranged_bytes)(const Context&, const Plan&, const Region&) = nullptr;
  double (*latency)(const Context&, const Region&) = nullptr;
  plan::Precision (*operand_precision)(const Context&, const Region&) = nullptr;
  bool (*rounds_product)(const Context&, const Plan&, const Region&) = nullptr;
};

class ProductTechnique final : public Technique {
  using Context = plan::Context;
  using Plan = plan::Plan;
  using Region = plan::Region;

 public:
  constexpr explicit ProductTechnique(const ProductRow& row) : row_(row) {}

  std::string_view name() const override { return row_.name; }
  std::string_view idea() const override { return row_.idea; }
  plan::Kind kind() const override { return row_.kind; }
  plan::Entry entry() const override { return row_.entry; }
  bool has_free_epilogue() const override { return row_.has_free_epilogue; }
  bool takes_any_order() const override { return row_.takes_any_order; }
  bool may_round_result() const override { return row_.may_round_result; }
  plan::Rate rate(const Context& context, const Region& region) const override {
    return row_.rate(context, region);
  }
  Result<void> accepts(const Context& context, const Region& region) const override;
  Result<RegionCode> write(const RegionRequest& request) const override;
  std::vector<plan::Offer> offers(const Context& context, const Region& region) const override {
    return row_.offers ? row_.offers(context, region) : Technique::offers(context, region);
  }
  bool is_exact(const plan::Offer& offer) const override {
    return row_.is_exact ? row_.is_exact(offer) : Technique::is_exact(offer);
  }
  bool suits(const Context& context, const Region& region, const plan::Offer& offer) const override {
    return row_.suits ? row_.suits(context, region, offer) : Technique::suits(context, region, offer);
  }
  bool gives_way(const Context& context, const Region& region) const override {
    return row_.gives_way ? row_.gives_way(context, region) : Technique::gives_way(context, region);
  }
  std::vector<plan::Knob> knobs(const Context& context, const Region& region) const override {
    return row_.knobs ? row_.knobs(context, region) : Technique::knobs(context, region);
  }
  Result<void> accepts_storage(const Context& context, const Plan& plan, const Region& region) const override;
  std::vector<ValueId> row_major_values(const Context& context, const Region& region,
                                        const plan::Movable& movable, int64_t element_bytes) const override {
    return row_.row_major_values ? row_.row_major_values(context, region, movable, element_bytes)
                                 : Technique::row_major_values(context, region, movable, element_bytes);
  }
  std::optional<plan::TruncatedSums> truncated_sums(const Context& context,
                                                    const Region& region) const override {
    return row_.truncated_sums ? row_.truncated_sums(context, region)
                               : Technique::truncated_sums(context, region);
  }
  double added_error(const Context& context, const Region& region) const override {
    return row_.added_error ? row_.added_error(context, region) : Technique::added_error(context, region);
  }
  std::optional<plan::Leaner> leaner(const Context& context, const Region& region) const override {
    return row_.leaner ? row_.leaner(context, region) : Technique::leaner(context, region);
  }
  double scratch_bytes(const Context& context, const Region& region) const override {
    return row_.scratch_bytes ? row_.scratch_bytes(context, region)
                              : Technique::scratch_bytes(context, region);
  }
  std::optional<double> kernel_bytes(const Context& context, const Region& region) const override {
    return row_.kernel_bytes ? row_.kernel_bytes(context, region) : Technique::kernel_bytes(context, region);
  }
  double rearranged_bytes(const Context& context, const Plan& plan, const Region& region) const override {
    return row_.rearranged_bytes ? row_.rearranged_bytes(context, plan, region)
                                 : Technique::rearranged_bytes(context, plan, region);
  }
  double latency(const Context& context, const Region& region) const override {
    return row_.latency ? row_.latency(context, region) : Technique::latency(context, region);
  }
  plan::Precision operand_precision(const Context& context, const Region& region) const override {
    return row_.operand_precision ? row_.operand_precision(context, region)
                                  : Technique::operand_precision(context, region);
  }
  bool rounds_product(const Context& context, const Plan& plan, const Region& region) const override {
    return row_.rounds_product ? row_.rounds_product(context, plan, region)
                               : Technique::rounds_product(context, plan, region);
  }

 private:
  ProductRow row_;
};

// Why a technique refuses a region.
Error not_for(const plan::Region& region, std::string why);

// The rate of a simple kernel on the CUDA cores, for fallbacks.
plan::Rate plain_rate(const plan::Context& context);
// Bound by its bytes.
plan::Rate streaming_rate(const plan::Context& context);

extern const ProductTechnique matmul_plain, matmul_cublaslt, matmul_long, matmul_split_half,
    matmul_scaled_half, matmul_split_int8, matmul_outer, matmul_vector, matmul_thin, matmul_tensor_core;
extern const ProductTechnique conv_plain, conv_pixel, batch_norm_as_pytorch, conv_as_pytorch, conv_cudnn,
    conv_cudnn_graph, conv_implicit, conv_split_half, conv_transposed, conv_depthwise, conv_direct,
    conv_concat, conv_pointwise, conv_pointwise_odd, conv_pointwise_nhwc, conv_vector;
extern const ProductTechnique attention_plain, attention_few, attention_half, attention_tensor_core;
extern const ProductTechnique rnn_plain, rnn_cluster, rnn_persistent, rnn_cudnn;

}  // namespace stitch::code
