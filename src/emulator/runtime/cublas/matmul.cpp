#include "cublas/matmul.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "library/call.h"
#include "library/numbers.h"
#include "settings.h"

namespace stitch_emulated {

namespace {

constexpr int64_t tile_rows = 64, tile_columns = 256;

size_t extent(const Matrix& matrix, int64_t batch) {
  if (!matrix.rows || !matrix.columns || !batch) return 0;
  const int64_t last = (matrix.rows - 1) * matrix.row_step + (matrix.columns - 1) * matrix.column_step +
                       (batch - 1) * matrix.batch_step;
  return static_cast<size_t>(last + 1) * bytes_of(matrix.element);
}

template <class T>
T activate(Activation activation, T x) {
  switch (activation) {
    case Activation::relu: return x > 0 || x != x ? x : T{};
    case Activation::gelu: {
      const double v = static_cast<double>(x);
      return static_cast<T>(0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))));
    }
    default: return x;
  }
}

// Row-major, as `multiply` needs it.
template <class T>
std::vector<T> packed(const Matrix& matrix, int64_t batch, Precision precision) {
  std::vector<T> out(static_cast<size_t>(matrix.rows * matrix.columns));
  for (int64_t i = 0; i < matrix.rows; ++i)
    read(matrix.element, matrix.data, batch * matrix.batch_step + i * matrix.row_step, matrix.column_step,
         matrix.columns, out.data() + i * matrix.columns);
  // Operands of 16 bits and fewer fit into any tensor core.
  if (matrix.element == Element::f32) round_to(precision, out.data(), out.size());
  return out;
}

// T: accumulator. S: type of the epilogue.
template <class T, class S>
void run_tile(const Matmul& p, int64_t batch, const T* a, const T* b, int64_t row, int64_t column,
              std::vector<T>& sums, std::vector<S>& line) {
  const int64_t m = std::min(tile_rows, p.d.rows - row), n = std::min(tile_columns, p.d.columns - column);
  const int64_t k = p.a.columns;
  multiply(m, n, k, a + row * k, k, b + column, p.d.columns, sums.data(), tile_columns);
  const S alpha = static_cast<S>(p.alpha.get() * p.operand_scale[0].get() * p.operand_scale[1].get());
  const S beta = static_cast<S>(p.beta.get()), c_scale = static_cast<S>(p.c_scale.get());
  const S d_scale = static_cast<S>(p.d_scale.get());
  for (int64_t i = 0; i < m; ++i) {
    const int64_t at = row + i;
    if (beta != 0)
      read(p.c.element, p.c.data, batch * p.c.batch_step + at * p.c.row_step + column * p.c.column_step,
           p.c.column_step, n, line.data());
    S bias{};
    if (p.bias) read(p.bias_element, p.bias, batch * p.bias_batch_step + at, 1, 1, &bias);
    for (int64_t j = 0; j < n; ++j) {
      S value = alpha * static_cast<S>(sums[static_cast<size_t>(i * tile_columns + j)]) + bias;
      if (beta != 0) value += beta * c_scale * line[static_cast<size_t>(j)];
      line[static_cast<size_t>(j)] = activate(p.activation, value) * d_scale;
    }
    write(p.d.element, p.d.data, batch * p.d.batch_step + at * p.d.row_step + column * p.d.column_step,
          p.d.column_step, n, line.data());
  }
}

template <class T, class S>
void run_one(const Matmul& p, int64_t batch, bool threaded) {
  const std::vector<T> a = packed<T>(p.a, batch, p.precision), b = packed<T>(p.b, batch, p.precision);
  const int64_t across = (p.d.columns + tile_columns - 1) / tile_columns;
  const int64_t tiles = (p.d.rows + tile_rows - 1) / tile_rows * across;
  auto run = [&](size_t tile) {
    std::vector<T> sums(static_cast<size_t>(tile_rows * tile_columns));
    std::vector<S> line(static_cast<size_t>(tile_columns));
    const auto at = static_cast<int64_t>(tile);
    run_tile(p, batch, a.data(), b.data(), at / across * tile_rows, at % across * tile_columns, sums, line);
  };
  if (threaded)
    for_each_part(static_cast<size_t>(tiles), run);
  else
    for (int64_t tile = 0; tile < tiles; ++tile) run(static_cast<size_t>(tile));
}

template <class T, class S>
void run_all(const Matmul& p) {
  // Many small products: one per thread. Few large ones: each over all threads.
  if (p.batch > settings().workers) {
    for_each_part(static_cast<size_t>(p.batch),
                  [&](size_t batch) { run_one<T, S>(p, static_cast<int64_t>(batch), false); });
  } else {
    for (int64_t batch = 0; batch < p.batch; ++batch) run_one<T, S>(p, batch, true);
  }
}

void run(const Matmul& p) {
  if (p.workspace_bytes) spoil(p.workspace, p.workspace_bytes);
  if (p.sum == Element::f64) return run_all<double, double>(p);
  if (p.sum == Element::f32) return run_all<float, float>(p);
  if (p.alpha.element == Element::i32) return run_all<int32_t, int32_t>(p);
  run_all<int32_t, float>(p);
}

}  // namespace

cudaError_t submit_matmul(Matmul product, cudaStream_t stream) {
  LibraryOperation call;
  call.name = product.name + " " + std::to_string(product.d.rows) + "x" + std::to_string(product.d.columns) +
              "x" + std::to_string(product.a.columns);
  if (product.batch > 1) call.name += " batch " + std::to_string(product.batch);
  call.operands = {{"A", product.a.data, extent(product.a, product.batch)},
                   {"B", product.b.data, extent(product.b, product.batch)},
                   {"D", product.d.data, extent(product.d, product.batch)},
                   {"workspace", product.workspace, product.workspace_bytes}};
  if (product.beta.device || product.beta.value != 0)
    call.operands.push_back({"C", product.c.data, extent(product.c, product.batch)});
  if (product.bias)
    call.operands.push_back(
        {"bias", product.bias,
         static_cast<size_t>(product.d.rows + (product.batch - 1) * product.bias_batch_step) *
             bytes_of(product.bias_element)});
  for (const Factor* factor : {&product.alpha, &product.beta, &product.operand_scale[0],
                               &product.operand_scale[1], &product.c_scale, &product.d_scale})
    if (factor->device) call.operands.push_back({"scale", factor->device, bytes_of(factor->element)});
  call.work = [product = std::move(product)] { run(product); };
  return submit_call(stream, std::move(call));
}

bool element_of(cudaDataType type, Element& out) {
  switch (type) {
    case CUDA_R_64F: out = Element::f64; return true;
    case CUDA_R_32F: out = Element::f32; return true;
    case CUDA_R_16F: out = Element::f16; return true;
    case CUDA_R_16BF: out = Element::bf16; return true;
    case CUDA_R_8F_E4M3: out = Element::e4m3; return true;
    case CUDA_R_8F_E5M2: out = Element::e5m2; return true;
    case CUDA_R_8I: out = Element::i8; return true;
    case CUDA_R_32I: out = Element::i32; return true;
    default: return false;
  }
}

bool compute_of(cublasComputeType_t compute, Element& sum, Precision& precision) {
  sum = Element::f32;
  precision = Precision::full;
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9: return true;
    case CUBLAS_COMPUTE_32F_FAST_TF32: precision = Precision::tf32; return true;
    case CUBLAS_COMPUTE_32F_FAST_16F: precision = Precision::half; return true;
    case CUBLAS_COMPUTE_32F_FAST_16BF: precision = Precision::bfloat; return true;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: sum = Element::f64; return true;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC: sum = Element::i32; return true;
    default: return false;
  }
}

}  // namespace stitch_emulated
