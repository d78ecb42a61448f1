// conv and conv_transpose in one form, always with three spatial dimensions, missing ones of size one.
#pragma once

#include <array>

#include "code/products/convolution/convolution.h"
#include "code/products/epilogue.h"
#include "code/products/parts.h"

namespace stitch::code {

struct Convolution {
  using Three = std::array<int64_t, 3>;
  bool transposed = false;
  size_t dims = 0;  // 1 to 3, the last ones
  int64_t batch = 0, channels_in = 0, channels_out = 0, groups = 1;
  Three size_in{1, 1, 1}, size_out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0},
      dilation{1, 1, 1};
  View x, weight;
  ResultPlace result;

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t positions() const { return size_out[0] * size_out[1] * size_out[2]; }
  int64_t positions_in() const { return size_in[0] * size_in[1] * size_in[2]; }
  bool depthwise() const { return groups > 1 && groups == channels_in; }
  // Strides of a tensor (N, C, spatial…) as {sample, channel, z, y, x}.
  std::array<int64_t, 5> strides(const View& view) const;
};

inline constexpr std::array convolution_ops = {Op::conv, Op::conv_transpose};

// Sizes only, for `accepts`.
Convolution geometry_of(const Graph& graph, const Node& node);
// At the sizes that decide how work is divided: a program for ranges of sizes has one tile.
Convolution deciding_geometry(const RegionRequest& request, const Node& node);
// What a kernel takes: refusals say which of it a region is not.
struct ConvolutionLimits {
  bool only_f32 = false;   // else fp16 and bf16, too
  bool one_group = false;  // and not transposed
  bool one_tap = false;    // without padding
  bool strides = true;
  bool packs = true;            // once: the weight is a constant
  bool indexed_by_int = false;  // images of less than 2^31 elements
};
Result<Convolution> accepts_convolution(const Graph& graph, const plan::Region& region,
                                        const ConvolutionLimits& limits);
Result<Convolution> convolution_of(const RegionRequest& request, const Parts& parts);
// relu (4, 10, 17, 15) = x (4, 8, 17, 15) * weight (10, 8, 3, 3), stride 2: the comment above a convolution.
std::string describe(const Convolution& convolution);

// The indices of a convolution as a gathering product, for kernels/matmul.h.
std::string convolution_struct(const Convolution& convolution, const std::string& name);
// Threads for each element of its result there; 0: tiles.
int64_t product_lanes(const Convolution& convolution);

// As a struct of constants, for kernels/conv_depthwise.h and conv_direct.h: "struct NAME {  // description"
// with element and index types; sizes, kernel, stride, padding and dilation; offsets of elements of x and the
// result.
std::string layer_head(const Convolution& convolution, const std::string& name);
std::string layer_geometry(const Convolution& convolution);
std::string layer_indices(const Convolution& convolution);

// "NAME" or, without a z axis, "NAME : stitch::FlatConvolution", whose constants of z need not be repeated.
std::string described_as(const std::string& name, bool flat);
// "  static constexpr int64_t x_stride_sample = 8192, …": strides {sample, channel, z, y, x} of an operand.
// `first`, `second`: what the first two are called.
std::string stride_constants(std::string_view of, const std::array<int64_t, 5>& strides, int64_t offset,
                             bool flat, std::string_view first = "sample",
                             std::string_view second = "channel");

// The operands' precision on a library's tensor cores: by the offer, otherwise by the class.
plan::Precision convolution_precision(const plan::Context& context, const plan::Region& region);

// NHWC rather than NCHW.
bool channels_last(const Convolution& convolution, const View& view);
bool dense_nchw(const View& view);

// Variants of a 1 x 1 convolution, by layout and epilogue.
// In NHWC, samples and pixels are rows of one matrix: cuBLASLt's, with its epilogue. Empty for other layouts
// or epilogues.
std::optional<LibraryEpilogue> pointwise_last_epilogue(const RegionRequest& request, const Parts& parts,
                                                       const Convolution& convolution);
RegionCode write_pointwise_last(const RegionRequest& request, const Convolution& convolution,
                                const LibraryEpilogue& epilogue, const std::string& summary, bool exact);

// Large NCHW planes without epilogue, in TF32: cuBLASLt's, too.
bool suits_library(const RegionRequest& request, const Convolution& convolution, const Epilogue& epilogue);
RegionCode write_pointwise_library(const RegionRequest& request, const Convolution& convolution);

}  // namespace stitch::code
