#include "code/products/convolution/conv_phases.h"

#include <algorithm>

#include "base/format.h"

namespace stitch::code {

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
