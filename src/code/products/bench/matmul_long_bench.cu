// matmul.long at the size of KernelBench's product of depth 524288, with several numbers of segments
// (measure.h has the command). Microseconds, TB/s of both sides, TFLOP/s, relative error.
#include "measure.h"
#include "stitch/kernels/matmul_arrange.h"
#include "stitch/kernels/matmul_long.h"

template <int64_t length>
struct Segments {
  static constexpr int64_t segment = length;
  static constexpr bool left_quads = true, right_quads = true;
};

template <class P, int64_t length>
void time_segments(bool normal) {
  using T = Segments<length>;
  using S = LongSums<P, T>;
  Buffer<float> left(P::left_elements), right(P::right_elements), out(P::out_elements),
      partials(S::segments * P::out_elements);
  draw<<<1024, 256>>>(left.data, P::left_elements, 1, normal, 1.0f);
  draw<<<1024, 256>>>(right.data, P::right_elements, 7777, normal, 1.0f);
  const double time =
      time_of([&] { OK((enqueue_long_sums<P, T>("long", left.data, right.data, partials.data, nullptr))); });
  const double finished = time_of([&] {
    OK((finish_product<P, static_cast<int>(S::segments), P::columns, true>("finish", partials.data, out.data,
                                                                           NoEpilogue{}, nullptr)));
  });
  say("%d x %d x %d right %s, %3d segments: %7.1f us %5.2f TB/s %6.1f TFLOP/s, finish %5.1f us, error %.1e\n",
      P::rows, P::columns, P::depth, P::right_by_depth ? "by depth" : "by side ",
      static_cast<int>(S::segments), time * 1e3, 8.0 * P::left_elements / time / 1e9, P::flops / time / 1e9,
      finished * 1e3, error_of_product<P>(left.data, right.data, out.data));
}

int main() {
  using Deep = DenseProduct<1, 256, 256, 524288, false>;
  time_segments<Deep, 15904>(false);
  time_segments<Deep, 15904>(true);
  time_segments<Deep, 7968>(false);
  time_segments<Deep, 31776>(false);
  using Rows = DenseProduct<1, 128, 128, 131072, true>;
  time_segments<Rows, 1024>(true);
}
