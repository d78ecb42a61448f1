// Adam with bias correction, and a limit on the gradient's norm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stitch::learn {

struct AdamOptions {
  double rate = 3e-3, first = 0.9, second = 0.999, epsilon = 1e-8;
  double most_norm = 1;  // of the gradient; 0: no limit
};

struct Adam {
  std::vector<double> means, squares;  // a parameter each
  int64_t steps = 0;

  // False: the gradient has something in it that is no number, and nothing was changed.
  bool step(std::span<double> parameters, std::span<const double> gradient, const AdamOptions& options);
};

}  // namespace stitch::learn
