// A strided convolution over few channels as one without stride, whose channels are blocks of pixels.
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

}  // namespace stitch::code
