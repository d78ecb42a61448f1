#include "code/products/convolution/conv_folded.h"

#include <algorithm>

#include "base/format.h"

namespace stitch::code {

std::optional<Folded> folded_of(const Graph& graph, const Convolution& c, int64_t at_once) {
  // cuDNN's kernels take 32 channels or more at a time: for 12 padded to 16 nothing is gained (64 x 3 x 512²
  // to 96 filters of 7 x 7, stride 2: 2.8 ms on an H200, by conv.split_half 1.35).
  constexpr int64_t few_channels = 4, enough_channels = 32, most_stride = 8, most = int64_t{1} << 31;
  if (c.transposed || c.groups > 1 || c.dims != 2 || c.channels_in > few_channels ||
      c.dilation != Folded::Three{1, 1, 1} || c.stride[1] < 2 || c.stride[2] < 2 ||
      c.stride[1] > most_stride || c.stride[2] > most_stride || c.kernel[1] <= c.stride[1] ||
      c.kernel[2] <= c.stride[2])
    return std::nullopt;
  if (c.channels_in * c.stride[1] * c.stride[2] < enough_channels) return std::nullopt;
  const bool adds_zeros = c.kernel[1] % c.stride[1] != 0 || c.kernel[2] % c.stride[2] != 0;
  if (adds_zeros && std::ranges::any_of(graph.outputs, [&](ValueId id) { return graph.type(id).rank() > 2; }))
    return std::nullopt;
  Folded out;
  const int64_t channels = c.channels_in * c.stride[1] * c.stride[2];
  out.padded = (channels + at_once - 1) / at_once * at_once;
  for (size_t d = 1; d < 3; ++d) {
    out.taps[d] = (c.kernel[d] + c.stride[d] - 1) / c.stride[d];
    out.size[d] = c.size_out[d] + out.taps[d] - 1;
  }
  if (out.elements(c) >= most) return std::nullopt;
  return out;
}

std::string folded_struct(const Convolution& c, const Folded& folded, const std::string& name) {
  const auto strides = c.strides(c.x);
  std::string text = format("struct {} {{\n", name);
  text += format("  static constexpr int channels = {}, filters = {};\n", c.channels_in, c.channels_out);
  text += format("  static constexpr int batch = {}, height = {}, width = {}, size_y = {}, size_x = {};\n",
                 c.batch, c.size_in[1], c.size_in[2], folded.size[1], folded.size[2]);
  text += format(
      "  static constexpr int kernel_y = {}, kernel_x = {}, stride_y = {}, stride_x = {}, pad_y = {}, pad_x "
      "= "
      "{};\n",
      c.kernel[1], c.kernel[2], c.stride[1], c.stride[2], c.padding[1], c.padding[2]);
  text += format("  static constexpr int taps_y = {}, taps_x = {}, padded = {};\n", folded.taps[1],
                 folded.taps[2], folded.padded);
  return text + format(
                    "  static constexpr int64_t offset = {}, x_sample = {}, x_channel = {}, x_y = {}, x_x = "
                    "{};\n}};\n",
                    c.x.offset, strides[0], strides[1], strides[3], strides[4]);
}

}  // namespace stitch::code
