// Convolutions with kernels of one pixel, channels first: by kernels/conv_pointwise.h in TF32 and at FP32's
// accuracy, and by cuBLASLt in TF32, a product a sample (measure.h has the command). TB/s counts x and the
// result once; the error is of normal inputs.
#include "measure.h"
#include "stitch/kernels/conv_pointwise.h"
#include "stitch/runtime/cublaslt.h"

namespace {

// Channels and filters are those of a group.
template <int samples_, int groups_, int channels_, int filters_, int64_t pixels_, bool together_ = false>
struct Shape {
  static constexpr int samples = samples_, groups = groups_, channels = channels_, filters = filters_;
  static constexpr int64_t pixels = pixels_;
  static constexpr bool x_in_quads = true, out_in_quads = true, out_in_planes = true;
  static constexpr bool together = together_;
  static constexpr int64_t x_elements = int64_t{samples} * groups * channels * pixels,
                           out_elements = int64_t{samples} * groups * filters * pixels;
};

template <class G>
struct Product {
  using Left = float;
  using Right = float;
  using Out = float;
  using Index = std::conditional_t<(G::out_elements < (int64_t{1} << 30)), int, int64_t>;
  static constexpr bool padded = false;
  __device__ static Index left(Index group, Index row, Index k) {
    return (group * G::filters + row) * G::channels + k;
  }
  __device__ static Index right(Index group, Index k, Index column) {
    return ((column / G::pixels * G::groups + group) * G::channels + k) * G::pixels + column % G::pixels;
  }
  __device__ static Index out(Index, Index, Index) { return 0; }  // it lies in planes
};

template <class G>
struct Exact {
  const float *x, *weight;
  __device__ double operator()(int64_t at) const {
    const int64_t pixel = at % G::pixels, filter = at / G::pixels % (G::groups * G::filters);
    const int64_t plane =
        (at / G::pixels / (G::groups * G::filters) * G::groups + filter / G::filters) * G::channels;
    double sum = 0;
    for (int c = 0; c < G::channels; ++c)
      sum += static_cast<double>(x[(plane + c) * G::pixels + pixel]) * weight[filter * G::channels + c];
    return sum;
  }
};

template <class G>
void measure(const char* name) {
  if (!wanted(name)) return;
  using P = Product<G>;
  constexpr int64_t weights = int64_t{G::groups} * G::filters * G::channels;
  Buffer<float> x(G::x_elements), weight(weights), result(G::out_elements),
      packed(PointwiseTile<G, false>::packed), pairs(PointwiseTile<G, true>::packed);
  draw<<<2048, 256>>>(x.data, G::x_elements, 1, true, 1.0f);
  draw<<<64, 256>>>(weight.data, weights, 12345678901, true,
                    1.0f / std::sqrt(static_cast<float>(G::channels)));
  OK((pack_pointwise<P, G, false>(weight.data, packed.data, nullptr)));
  OK((pack_pointwise<P, G, true>(weight.data, pairs.data, nullptr)));
  auto by = [&](const char* way, auto run) {
    CUDA(cudaMemset(result.data, 0, G::out_elements * sizeof(float)));
    run();
    const double error = error_of(result.data, G::out_elements, Exact<G>{x.data, weight.data});
    const double time = time_of(run), bytes = 4.0 * (G::x_elements + G::out_elements);
    say("%-14s %-9s %8.3f ms  %5.2f TB/s  %6.1f TFLOP/s  %.1e\n", name, way, time, bytes / time / 1e9,
        2.0 * G::out_elements * G::channels / time / 1e9, error);
  };
  by("tf32", [&] {
    OK((enqueue_pointwise<P, G, false>("tf32", x.data, packed.data, nullptr, result.data, NoEpilogue{},
                                       nullptr)));
  });
  by("exact", [&] {
    OK((enqueue_pointwise<P, G, true>("exact", x.data, pairs.data, nullptr, result.data, NoEpilogue{},
                                      nullptr)));
  });
  CublasLt library;
  OK(library.create());
  Matmul product;
  MatmulSpec spec{G::filters, G::pixels, G::channels};
  spec.batch = G::samples;
  spec.left_batch_stride = 0;
  spec.right_batch_stride = int64_t{G::groups} * G::channels * G::pixels;
  spec.result_batch_stride = int64_t{G::groups} * G::filters * G::pixels;
  spec.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  OK(product.create(library, spec));
  by("cuBLASLt", [&] {
    for (int64_t g = 0; g < G::groups; ++g)
      OK(product.enqueue(weight.data + g * G::filters * G::channels, x.data + g * G::channels * G::pixels,
                         result.data + g * G::filters * G::pixels, nullptr));
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) only = arguments[1];
  // Named for KernelBench's level and task.
  measure<Shape<16, 1, 64, 128, 1024 * 1024>>("L1-87");
  measure<Shape<16, 1, 64, 128, 512 * 512>>("L1-86");
  measure<Shape<128, 1, 32, 64, 256 * 256>>("L3-13");
  measure<Shape<128, 1, 32, 64, 128 * 128>>("L3-13-pooled");
  measure<Shape<10, 1, 480, 192, 224 * 224>>("L3-6-192");
  measure<Shape<10, 1, 480, 192, 224 * 224, true>>("L3-6-192-step");
  measure<Shape<10, 1, 480, 96, 224 * 224>>("L3-6-96");
  measure<Shape<10, 1, 480, 96, 224 * 224, true>>("L3-6-96-step");
  measure<Shape<10, 1, 480, 16, 224 * 224>>("L3-6-16");
  measure<Shape<10, 1, 112, 672, 224 * 224>>("L3-21");
  measure<Shape<10, 1, 112, 672, 224 * 224, true>>("L3-21-step");
  measure<Shape<10, 3, 80, 40, 224 * 224>>("L3-25-in");
  measure<Shape<10, 3, 40, 160, 224 * 224>>("L3-25-out");
  measure<Shape<10, 3, 20, 80, 56 * 56>>("L3-26");
  measure<Shape<640, 3, 49, 49, 32>>("L3-29-3");
  measure<Shape<40, 12, 49, 49, 32>>("L3-29-12");
}
