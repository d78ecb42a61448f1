// A strided transposed convolution as one convolution over its pixels: outputs with the same position modulo
// the stride (a phase) use the same taps, so each phase is a convolution, and all together are one with as
// many filters each. Missing taps are zeros.
#pragma once

#include <optional>
#include <string>

#include "code/products/convolution/convolution.h"

namespace stitch::code {

struct Phases {
  using Three = Convolution::Three;
  Three per_axis{1, 1, 1};  // taps of a phase
  Three padding{0, 0, 0};
  Three size{1, 1, 1};    // of that convolution's output, including some unused at the edges
  Three before{0, 0, 0};  // output o is phase (o + before) % stride of pixel (o + before) / stride

  int64_t taps() const { return per_axis[0] * per_axis[1] * per_axis[2]; }
  int64_t filters(const Convolution& of) const {
    return of.channels_out * of.stride[0] * of.stride[1] * of.stride[2];
  }
  int64_t elements(const Convolution& of) const {
    return of.batch * filters(of) * size[0] * size[1] * size[2];
  }
  bool pads_taps(const Convolution& of) const;
};

// Empty for groups, dilation and stride one.
std::optional<Phases> phases_of(const Convolution& convolution);

// For kernels/conv_arrange.h.
std::string phases_struct(const Convolution& convolution, const Phases& phases, const std::string& name);

}  // namespace stitch::code
