// Convolutions as other ones: a strided one over few channels as one without stride, whose channels are
// blocks of pixels; a strided transposed one phase by phase.
#pragma once

#include <optional>
#include <string>

#include "code/products/convolution/convolution.h"

namespace stitch::code {

struct Folded {
  using Three = Convolution::Three;
  int64_t padded = 0;   // channels
  Three taps{1, 1, 1};  // of a filter
  Three size{1, 1, 1};  // of the image

  int64_t elements(const Convolution& of) const { return of.batch * padded * size[1] * size[2]; }
  // The fraction of the multiplied elements that isn't padding.
  double filled(const Convolution& of) const {
    return static_cast<double>(of.channels_in * of.taps()) / static_cast<double>(padded * taps[1] * taps[2]);
  }
};

// For kernels that take channels by `at_once`; empty if that isn't better: many channels, no strides, groups,
// dilation. Also empty if a filter gets zeros and an output of the graph has pixels: zero times infinity is
// NaN where the model has none.
std::optional<Folded> folded_of(const Graph& graph, const Convolution& convolution, int64_t at_once);

// For kernels/conv_folded.h.
std::string folded_struct(const Convolution& convolution, const Folded& folded, const std::string& name);

// A strided transposed convolution as one convolution over its pixels: outputs with the same position modulo
// the stride (a phase) use the same taps, so each phase is a convolution, and all together are one with as
// many filters each. Missing taps are zeros.

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
