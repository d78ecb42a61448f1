// A call's tensor descriptors as a caller has them on its stack: at another address in the next call, and
// overwritten after return. A program that keeps pointers to them reads garbage.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "stitch/program.h"

namespace stitch::runner {

class HandedArguments {
 public:
  StitchTensor* hand(const std::vector<StitchTensor>& tensors) {
    place_ = (place_ + 1) % places_.size();
    places_[place_] = tensors;
    return places_[place_].data();
  }
  void take_back() {
    std::vector<StitchTensor>& now = places_[place_];
    constexpr int nonsense = 0xA5;
    if (!now.empty()) std::memset(now.data(), nonsense, now.size() * sizeof(StitchTensor));
  }

 private:
  std::array<std::vector<StitchTensor>, 3> places_;
  size_t place_ = 0;
};

}  // namespace stitch::runner
