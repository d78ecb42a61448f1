// conv.cudnn as a class, extended by conv.cudnn_graph with another epilogue.
#pragma once

#include <optional>
#include <vector>

#include "code/products/convolution/convolution.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"

namespace stitch::code {

class ConvCudnn : public ProductTechnique {
 public:
  std::string_view name() const override { return "conv.cudnn"; }
  std::string_view idea() const override { return "a convolution by cuDNN, bias and ReLU fused"; }
  plan::Kind kind() const override { return plan::Kind::convolution; }
  std::vector<plan::Offer> offers(const plan::Context& context, const plan::Region& region) const override;
  bool gives_way(const plan::Context&, const plan::Region&) const override { return true; }
  std::vector<plan::Knob> knobs(const plan::Context&, const plan::Region&) const override {
    return {proposal_knob(), {"search", "1: cuDNN times its algorithms when a program is created", {0, 1}}};
  }
  bool has_free_epilogue() const override { return false; }
  // Including its own copies, in the multiplied type.
  std::optional<double> kernel_bytes(const plan::Context& context, const plan::Region& region) const override;
  double rearranged_bytes(const plan::Context& context, const plan::Plan& plan,
                          const plan::Region& region) const override;
  plan::Precision operand_precision(const plan::Context& context, const plan::Region& region) const override {
    return convolution_precision(context, region);
  }
  bool rounds_product(const plan::Context& context, const plan::Plan& plan,
                      const plan::Region& region) const override;
  plan::Rate rate(const plan::Context& context, const plan::Region& region) const override;

  // `arranged`: the region copies the image first and pads its channels.
  double padded_bytes(const plan::Context& context, const plan::Region& region, bool arranged) const;

 protected:
  static bool multiplies_halves(const Graph& graph, const Node& node, const plan::Offer& offer) {
    return offer.rounds_to_half() || graph.type(node.results[0]).dtype != DType::f32;
  }
  // Whether a pass over the result follows.
  virtual bool finishes(const Graph& graph, const plan::Region& region) const;
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;

 private:
  Result<RegionCode> write_region(const RegionRequest& request) const override;
};

}  // namespace stitch::code
