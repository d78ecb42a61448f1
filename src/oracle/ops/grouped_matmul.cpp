// grouped_matmul: every row times the matrix of its group.
#include "oracle/call.h"
#include "oracle/ops/sum.h"
#include "oracle/walk.h"

namespace stitch::oracle {

Outcome evaluate_grouped_matmul(const Call& call) {
  const Tensor &x = call.in(0), &weight = call.in(1), &offsets = call.in(2);
  Tensor out = call.result();
  int64_t depth = x.shape()[1], groups = weight.shape()[0], width = weight.shape()[2];
  const double *from = x.data<double>(), *matrices = weight.data<double>();
  const int64_t* ends = offsets.data<int64_t>();
  for (int64_t g = 0; g < groups; ++g)
    if (ends[g] < 0 || ends[g] > x.shape()[0] || (g > 0 && ends[g] < ends[g - 1]))
      return user_error("out_of_range",
                        format("group {} ends before row {} of {}", g, ends[g], x.shape()[0]));
  double* y = out.writable<double>();
  parallel_for(x.shape()[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      double* to = y + row * width;
      std::fill_n(to, width, 0.0);
      int64_t group = std::upper_bound(ends, ends + groups, row) - ends;
      if (group == groups) continue;
      const double* matrix = matrices + group * depth * width;
      for (int64_t k = 0; k < depth; ++k) {
        double value = from[row * depth + k];
        for (int64_t j = 0; j < width; ++j) to[j] += value * matrix[k * width + j];
      }
    }
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
