// The techniques for products and sequences: one file each, one row each in families.cpp.
#pragma once

#include <span>

#include "code/region_code.h"

namespace stitch::code {

std::span<const Family> product_families();

Result<void> accepts_matmul_plain(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_matmul_plain(const RegionRequest& request);
Result<void> accepts_matmul_cublaslt(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_matmul_cublaslt(const RegionRequest& request);
Result<void> accepts_matmul_split_half(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_matmul_split_half(const RegionRequest& request);
Result<void> accepts_matmul_vector(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_matmul_vector(const RegionRequest& request);
Result<void> accepts_conv_plain(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_conv_plain(const RegionRequest& request);
Result<void> accepts_conv_cudnn(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_conv_cudnn(const RegionRequest& request);
Result<void> accepts_conv_vector(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_conv_vector(const RegionRequest& request);
Result<void> accepts_conv_split(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_conv_split(const RegionRequest& request);
Result<void> accepts_conv_transposed(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_conv_transposed(const RegionRequest& request);
Result<void> accepts_conv_depthwise(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_conv_depthwise(const RegionRequest& request);
Result<void> accepts_conv_pointwise(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_conv_pointwise(const RegionRequest& request);
Result<void> accepts_attention_plain(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_attention_plain(const RegionRequest& request);
Result<void> accepts_attention_flash(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_attention_flash(const RegionRequest& request);
Result<void> accepts_attention_tensor_core(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_attention_tensor_core(const RegionRequest& request);
Result<void> accepts_rnn_plain(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_rnn_plain(const RegionRequest& request);
Result<void> accepts_rnn_persistent(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_rnn_persistent(const RegionRequest& request);
Result<void> accepts_rnn_cudnn(const Graph& graph, const plan::Region& region);
Result<RegionCode> write_rnn_cudnn(const RegionRequest& request);

}  // namespace stitch::code
