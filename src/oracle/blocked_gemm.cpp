// The matrix product without a library. C is split into tiles, one per task; a tile's panels of A and B are
// packed in the order of the innermost loop, 4 rows by 8 columns.
#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/machine/parallel.h"
#include "oracle/blas.h"

namespace stitch::oracle {

namespace {

constexpr int64_t rows = 4, columns = 8;
// A tile's panel of B (256 x 256 doubles, 512 kB) fits in L2.
constexpr int64_t tile_rows = 128, tile_columns = 256, depth = 256;

typedef double Pair __attribute__((vector_size(16)));  // one register of SSE2 and of NEON

// Unrolls body(0), ..., body(count - 1) with constant indices, so that arrays stay in registers; -O2 alone
// doesn't do that.
template <size_t count, class Body>
inline void unrolled(const Body& body) {
  [&]<size_t... i>(std::index_sequence<i...>) { (body(std::integral_constant<size_t, i>()), ...); }
  (std::make_index_sequence<count>());
}

// result (4, 8) = a (count, 4)^T b (count, 8)
void multiply(const double* a, const double* b, int64_t count, double* result) {
  constexpr size_t pairs = columns / 2;
  Pair sums[rows * pairs] = {};
  for (int64_t k = 0; k < count; ++k, a += rows, b += columns) {
    Pair right[pairs];
    unrolled<pairs>([&](auto j) { right[j] = Pair{b[2 * j], b[2 * j + 1]}; });
    unrolled<rows * pairs>([&](auto i) { sums[i] += Pair{a[i / pairs], a[i / pairs]} * right[i % pairs]; });
  }
  unrolled<rows * pairs>([&](auto i) {
    result[2 * i] = sums[i][0];
    result[2 * i + 1] = sums[i][1];
  });
}

// Packs `lines` lines of `count` numbers in groups of `group`, padded with zeros.
template <int64_t group>
void pack(const double* from, int64_t line_stride, int64_t step, int64_t lines, int64_t count, double* to) {
  for (int64_t first = 0; first < lines; first += group)
    for (int64_t k = 0; k < count; ++k)
      for (int64_t i = 0; i < group; ++i)
        *to++ = first + i < lines ? from[(first + i) * line_stride + k * step] : 0;
}

struct Tile {
  int64_t row, column, height, width;
};

void compute(const Gemm& shape, const Tile& tile, const double* a, const double* b, double* c,
             std::vector<double>& left, std::vector<double>& right) {
  // Strides between rows of A' (columns of B'), and along k.
  int64_t a_line = shape.transpose_a ? 1 : shape.stride_a, a_step = shape.transpose_a ? shape.stride_a : 1;
  int64_t b_line = shape.transpose_b ? shape.stride_b : 1, b_step = shape.transpose_b ? 1 : shape.stride_b;
  for (int64_t k = 0; k < shape.k; k += depth) {
    int64_t count = std::min(depth, shape.k - k);
    pack<rows>(a + tile.row * a_line + k * a_step, a_line, a_step, tile.height, count, left.data());
    pack<columns>(b + tile.column * b_line + k * b_step, b_line, b_step, tile.width, count, right.data());
    for (int64_t j = 0; j < tile.width; j += columns)
      for (int64_t i = 0; i < tile.height; i += rows) {
        double block[rows * columns];
        multiply(left.data() + i * count, right.data() + j * count, count, block);
        for (int64_t y = 0; y < std::min(rows, tile.height - i); ++y) {
          double* to = c + (tile.row + i + y) * shape.stride_c + tile.column + j;
          for (int64_t x = 0; x < std::min(columns, tile.width - j); ++x)
            to[x] += shape.alpha * block[y * columns + x];
        }
      }
  }
}

}  // namespace

void blocked_gemm(const Gemm& shape, const double* a, const double* b, double* c) {
  int64_t down = (shape.m + tile_rows - 1) / tile_rows, across = (shape.n + tile_columns - 1) / tile_columns;
  parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> left(tile_rows * depth), right(tile_columns * depth);
    for (int64_t t = begin; t < end; ++t) {
      Tile tile{t / across * tile_rows, t % across * tile_columns, 0, 0};
      tile.height = std::min(tile_rows, shape.m - tile.row);
      tile.width = std::min(tile_columns, shape.n - tile.column);
      for (int64_t i = 0; i < tile.height; ++i) {
        double* row = c + (tile.row + i) * shape.stride_c + tile.column;
        for (int64_t j = 0; j < tile.width; ++j) row[j] = shape.beta == 0 ? 0 : shape.beta * row[j];
      }
      compute(shape, tile, a, b, c, left, right);
    }
  });
}

}  // namespace stitch::oracle
