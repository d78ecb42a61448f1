// The techniques for products, convolutions, attention and recurrences: one file each.
#pragma once

#include "code/technique.h"

namespace stitch::code {

// Refusals name the region and the technique.
class ProductTechnique : public Technique {
 public:
  Result<void> accepts(const plan::Context& context, const plan::Region& region) const final;
  Result<RegionCode> write(const RegionRequest& request) const final;

 private:
  virtual Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const = 0;
  virtual Result<RegionCode> write_region(const RegionRequest& request) const = 0;
};

// Why a technique refuses a region.
Error not_for(const plan::Region& region, std::string why);

// The rate of a simple kernel on the CUDA cores, for fallbacks.
plan::Rate plain_rate(const plan::Context& context);
// Bound by its bytes.
plan::Rate streaming_rate(const plan::Context& context);

const Technique& matmul_plain();
const Technique& matmul_cublaslt();
const Technique& matmul_long();
const Technique& matmul_split_half();
const Technique& matmul_split_int8();
const Technique& matmul_outer();
const Technique& matmul_vector();
const Technique& matmul_thin();
const Technique& matmul_tensor_core();
const Technique& conv_plain();
const Technique& conv_pixel();
const Technique& batch_norm_as_pytorch();
const Technique& conv_as_pytorch();
const Technique& conv_cudnn();
const Technique& conv_cudnn_graph();
const Technique& conv_implicit();
const Technique& conv_split_half();
const Technique& conv_transposed();
const Technique& conv_depthwise();
const Technique& conv_direct();
const Technique& conv_concat();
const Technique& conv_pointwise();
const Technique& conv_pointwise_odd();
const Technique& conv_pointwise_nhwc();
const Technique& conv_vector();
const Technique& attention_plain();
const Technique& attention_flash();
const Technique& attention_few();
const Technique& attention_half();
const Technique& attention_tensor_core();
const Technique& rnn_plain();
const Technique& rnn_cluster();
const Technique& rnn_persistent();
const Technique& rnn_cudnn();

}  // namespace stitch::code
