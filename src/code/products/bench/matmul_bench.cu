// Our matrix products: cuBLASLt's FP32 and the split path with its parts, in every form its settings allow,
// with the shipped headers; then the vector kernel (measure.h has the command). Milliseconds. "linear" has a
// weight on the right, split when a program is created; "matmul" splits both sides on every run. Errors are
// of inputs uniform in [0, 1) and normal. The share is the products' alone: of 757 TFLOP/s that an H200
// reaches in fp16, and of 4.29 TB/s for vectors.
#include <string>

#include "measure.h"
#include "stitch/kernels/matmul_vector.h"
#include "stitch/kernels/split_half.h"
#include "stitch/runtime/cublaslt.h"

constexpr stitch::SplitBlocks h200_blocks{792, 132};

namespace {

template <int64_t batch, int64_t m, int64_t n, int64_t k, bool linear>
struct Shape : DenseProduct<batch, m, n, k, linear> {
  static constexpr bool weight = linear;
  static std::string name() {
    std::string text = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
    if (batch > 1) text = std::to_string(batch) + " x (" + text + ")";
    return text + (linear ? " linear" : " matmul");
  }
};

template <class P>
struct Bench {
  static constexpr int64_t result_elements = P::out_elements;
  Buffer<float> left{P::left_elements}, right{P::right_elements}, result{result_elements};
  CublasLt library;
  double fp32 = 0;

  void fill(bool normal) {
    draw<<<2048, 256>>>(left.data, P::left_elements, 1, normal, 1.0f);
    draw<<<2048, 256>>>(right.data, P::right_elements, 12345678901, normal, 1.0f);
  }

  void measure_fp32() {
    MatmulSpec spec{P::rows, P::columns, P::depth};
    spec.batch = P::batches;
    spec.right_transposed = P::weight;
    Matmul product;
    OK(product.create(library, spec));
    double errors[2];
    for (bool normal : {true, false}) {
      fill(normal);
      OK(product.enqueue(left.data, right.data, result.data, nullptr));
      errors[normal] = error_of_product<P>(left.data, right.data, result.data);
    }
    fp32 = time_of([&] { OK(product.enqueue(left.data, right.data, result.data, nullptr)); });
    say("%-34s  FP32 by cuBLASLt                 %8.3f          %8.3f  1.00x  %5.1f TFLOP/s         %.1e  "
        "%.1e\n",
        P::name().c_str(), fp32, fp32, P::flops / fp32 / 1e9, errors[0], errors[1]);
  }

  // As kernels/split_half.h has them.
  enum Form { deep, large_on_small, small_beside };

  template <Form form, int64_t chunks, bool side_by_side = false>
  void measure_split() {
    constexpr int64_t even = (P::depth + chunks - 1) / chunks;
    constexpr int64_t chunk = chunks == 1 ? (even + 7) / 8 * 8 : (even + 63) / 64 * 64;
    if constexpr (chunk * (chunks - 1) < P::depth &&
                  !(P::batches > 1 && (side_by_side || form == small_beside))) {
      constexpr int64_t depth = chunk * chunks, parts = form == deep ? 3 : 2;
      constexpr int64_t part_depth = form == deep ? chunk : depth;
      using L = SplitOperand<P, true, true, parts, part_depth, false>;
      using R = SplitOperand<P, false, P::weight, parts, part_depth, P::weight>;
      constexpr int64_t right_step = P::weight ? 1 : R::padded_inner;
      Buffer<__half> left_split(parts * P::batches * P::rows * depth);
      Buffer<__half> right_split(parts * P::batches *
                                 (P::weight ? P::columns * depth : depth * R::padded_inner));
      constexpr int64_t partials = side_by_side           ? chunks + (form == large_on_small)
                                   : form == small_beside ? 2
                                                          : 1;
      Buffer<float> partial(partials * result_elements);
      Buffer<SplitFactors> factors_of(1);
      float* first_scale = &factors_of.data->scale;
      Buffer<float> largest(h200_blocks.splitting);
      auto spec_of = [&](int64_t product_depth, const float* factors) {
        MatmulSpec spec{P::rows, P::columns, product_depth};
        spec.type = CUDA_R_16F;
        spec.result_type = CUDA_R_32F;
        spec.right_transposed = P::weight;
        spec.left_row_stride = parts * depth;
        spec.right_row_stride = P::weight ? parts * depth : R::padded_inner;
        spec.batch = side_by_side ? chunks : P::batches;
        if (side_by_side) {
          spec.left_batch_stride = form == deep ? 3 * chunk : chunk;
          spec.right_batch_stride = spec.left_batch_stride * right_step;
        } else if (P::batches > 1) {
          spec.left_batch_stride = parts * P::rows * depth;
          spec.right_batch_stride = parts * depth * R::padded_inner;
        }
        spec.factors = factors;
        return spec;
      };
      auto large = [&](const float* factors) {
        MatmulSpec spec = spec_of(form == deep ? 3 * chunk : chunk, factors);
        if (form == small_beside) {
          spec.rows *= 2;
          spec.left_row_stride /= 2;
        }
        return spec;
      };
      auto small = [&] {
        MatmulSpec spec = form == small_beside ? spec_of(depth, factors_of.data->second)
                                               : spec_of(2 * part_depth, factors_of.data->small_terms);
        if (form == small_beside) spec.result_row_stride = 2 * P::columns;
        if (side_by_side) spec.batch = 1;
        return spec;
      };
      Matmul first_terms, large_terms, small_terms;
      OK(first_terms.create(library, large(factors_of.data->first)));
      OK(large_terms.create(library, large(factors_of.data->second)));
      OK(small_terms.create(library, small()));
      float* to = side_by_side || form == small_beside ? partial.data : result.data;
      auto split_left = [&] {
        OK((split_operand<L, true, true>(left.data, left_split.data, largest.data, first_scale,
                                         factors_of.data, 1.0f, h200_blocks, nullptr)));
      };
      auto split_right = [&] {
        OK((split_operand<R, false, true>(right.data, right_split.data, largest.data, first_scale,
                                          factors_of.data, 1.0f, h200_blocks, nullptr)));
      };
      auto multiply = [&] {
        if (form == large_on_small)
          OK(small_terms.enqueue(left_split.data, right_split.data,
                                 to + (side_by_side ? chunks * result_elements : 0), nullptr));
        for (int64_t c = 0; c < (side_by_side ? 1 : chunks); ++c) {
          const int64_t at = form == deep ? c * 3 * chunk : c * chunk, high = form == deep ? 0 : part_depth;
          OK((c == 0 && (side_by_side || form != large_on_small) ? first_terms : large_terms)
                 .enqueue(left_split.data + at, right_split.data + (high + at) * right_step, to, nullptr));
        }
        if constexpr (form == small_beside) {
          OK(small_terms.enqueue(left_split.data, right_split.data, to + P::columns, nullptr));
          OK((finish_product<P, 2, P::columns, true, 2048>("finish", partial.data, result.data, NoEpilogue{},
                                                           nullptr)));
        } else if constexpr (side_by_side) {
          OK((finish_product<P, partials, P::columns, true>("finish", partial.data, result.data, NoEpilogue{},
                                                            nullptr)));
        }
      };
      double errors[2];
      for (bool normal : {true, false}) {
        fill(normal);
        split_right();
        split_left();
        multiply();
        errors[normal] = error_of_product<P>(left.data, right.data, result.data);
      }
      const double left_time = time_of(split_left), right_time = time_of(split_right),
                   multiply_time = time_of(multiply);
      const double whole = time_of([&] {
        if (!P::weight) split_right();
        split_left();
        multiply();
      });
      const char* names[] = {"deep", "accumulated", "stacked"};
      say("%-34s  %-14s %3lld chunk%s %-9s %6.3f %6.3f %8.3f  %8.3f  %.2fx  %5.1f TFLOP/s  %3.0f%%  "
          "%.1e  %.1e\n",
          P::name().c_str(), names[form], static_cast<long long>(chunks), chunks > 1 ? "s" : " ",
          side_by_side ? "in batch" : "", left_time, right_time, multiply_time, whole, fp32 / whole,
          P::flops / whole / 1e9, 100 * 3 * P::flops / multiply_time / 1e9 / 757, errors[0], errors[1]);
    }
  }

  void run() {
    OK(library.create());
    measure_fp32();
    measure_forms<1>();
    measure_forms<2>();
    measure_forms<4>();
    measure_forms<8>();
    if constexpr (int64_t{P::rows} * P::columns <= 1 << 20) {
      measure_split<deep, 32, true>();
      measure_split<large_on_small, 32, true>();
      measure_split<deep, 64, true>();
      measure_split<large_on_small, 64, true>();
    }
  }

  template <int64_t chunks>
  void measure_forms() {
    measure_split<deep, chunks>();
    measure_split<large_on_small, chunks>();
    if constexpr (P::rows <= 256) measure_split<small_beside, chunks>();
  }
};

// What the vector kernel reaches of the copy bandwidth; the segment is the one the Coder would take.
template <class P, bool thin_rows, int64_t segment>
void measure_vector() {
  Bench<P> bench;
  OK(bench.library.create());
  bench.fill(false);
  MatmulSpec spec{P::rows, P::columns, P::depth};
  spec.right_transposed = P::weight;
  Matmul product;
  OK(product.create(bench.library, spec));
  const double theirs =
      time_of([&] { OK(product.enqueue(bench.left.data, bench.right.data, bench.result.data, nullptr)); });
  Buffer<float> partial((P::depth + segment - 1) / segment * bench.result_elements);
  constexpr bool depth_inside = thin_rows ? P::weight : true;
  auto ours = [&] {
    OK((enqueue_vector_product<P, thin_rows, depth_inside, segment, 1, true>(
        "vector", bench.left.data, bench.right.data, partial.data, bench.result.data, NoEpilogue{},
        nullptr)));
  };
  ours();
  const double error = error_of_product<P>(bench.left.data, bench.right.data, bench.result.data);
  const double time = time_of(ours);
  const double bytes = 4.0 * static_cast<double>(P::left_elements + P::right_elements + P::out_elements);
  say("%-34s  vector %8.3f ms against %8.3f  %.2fx  %.2f TB/s  %3.0f%%  %.1e\n", P::name().c_str(), time,
      theirs, theirs / time, bytes / time / 1e9, 100 * bytes / time / 1e9 / 4.29, error);
}

template <class P>
void bench() {
  if (!wanted(P::name().c_str())) return;
  Bench<P> one;
  one.run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  say("%-34s  %-26s   left  right product     whole         of the whole    share  uniform  normal\n",
      "rows x columns x depth", "form");
  bench<Shape<1, 4096, 4096, 4096, false>>();
  bench<Shape<1, 8192, 8192, 8192, true>>();
  bench<Shape<1, 1024, 8192, 8192, true>>();
  bench<Shape<1, 2048, 16384, 16384, true>>();
  bench<Shape<1, 16384, 8192, 8192, true>>();
  bench<Shape<1, 128, 32768, 32768, true>>();
  bench<Shape<1, 128, 16384, 16384, true>>();
  bench<Shape<1, 64, 16384, 16384, true>>();
  bench<Shape<1, 1024, 4096, 4096, true>>();
  bench<Shape<1, 16384, 2048, 2048, true>>();
  bench<Shape<1, 256, 256, 131072, false>>();
  bench<Shape<1, 32768, 32768, 64, false>>();
  bench<Shape<1, 16384, 4096, 768, true>>();
  bench<Shape<128, 512, 2048, 1024, false>>();
  if (!*only) {
    measure_vector<Shape<1, 2048, 1, 1048576, true>, false, 8192>();
    measure_vector<Shape<1, 1024, 1, 8192, true>, false, 2048>();
    measure_vector<Shape<1, 4, 8192, 8192, true>, true, 8192>();
    measure_vector<Shape<1, 1, 16384, 4096, false>, true, 512>();
  }
}
