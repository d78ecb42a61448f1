#include "code/products/convolution/rearranged.h"

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

bool Phases::pads_taps(const Convolution& of) const {
  for (size_t d = 0; d < 3; ++d)
    if (per_axis[d] * of.stride[d] != of.kernel[d]) return true;
  return false;
}

std::optional<Phases> phases_of(const Convolution& c) {
  constexpr int64_t most = int64_t{1} << 31;
  if (!c.transposed || c.groups > 1 || c.dilation != Phases::Three{1, 1, 1} ||
      c.stride == Phases::Three{1, 1, 1})
    return std::nullopt;
  Phases out;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t stride = c.stride[d], taps = (c.kernel[d] + stride - 1) / stride;
    const int64_t first = c.padding[d] / stride, last = (c.size_out[d] - 1 + c.padding[d]) / stride;
    // cuDNN pads both sides equally.
    const int64_t left = taps - 1 - first, right = last - (c.size_in[d] - 1);
    if (left < 0) return std::nullopt;
    out.per_axis[d] = taps;
    out.padding[d] = std::max(left, right);
    out.size[d] = c.size_in[d] + 2 * out.padding[d] - taps + 1;
    out.before[d] = c.padding[d] + stride * (out.padding[d] - left - first);
  }
  if (out.elements(c) >= most) return std::nullopt;
  return out;
}

std::string phases_struct(const Convolution& c, const Phases& phases, const std::string& name) {
  std::string text = format("struct {} {{\n  static constexpr int channels = {}, filters = {};\n", name,
                            c.channels_in, c.channels_out);
  text += format("  static constexpr int height = {}, width = {};  // of the result\n", c.size_out[1],
                 c.size_out[2]);
  constexpr const char* axes[] = {"z", "y", "x"};
  for (size_t d = 0; d < 3; ++d) {
    text += format("  static constexpr int kernel_{0} = {1}, stride_{0} = {2}, taps_{0} = {3};\n", axes[d],
                   c.kernel[d], c.stride[d], phases.per_axis[d]);
    text += format("  static constexpr int before_{0} = {1}, size_{0} = {2};\n", axes[d], phases.before[d],
                   phases.size[d]);
  }
  return text + "};\n";
}

}  // namespace stitch::code
