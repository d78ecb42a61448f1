// mma.sync and ldmatrix: the last lane of a warp to arrive computes for all of them.
#include <cmath>
#include <cstring>

#include "stitch/core.h"
#include "stitch/small_floats.h"

namespace stitch_emulated {

namespace {

constexpr int lanes = 32;

constexpr uint32_t absent[4] = {~0u, ~0u, ~0u, ~0u};  // NaNs, of lanes that have ended

struct Product {
  float* sums;
  const uint32_t *left, *right;
};

// `unpack(part, i)`: the i-th of the `each` numbers of a part.
template <int each, class Unpack>
void multiply_warp(void* const operands[lanes], Unpack unpack) {
  constexpr int half = 4 * each;  // of the depth
  float left[16][2 * half], right[2 * half][8], sums[16][8];
  auto each_sum = [&](auto visit) {
    for (int lane = 0; lane < lanes; ++lane)
      if (const auto* of_lane = static_cast<const Product*>(operands[lane]))
        for (int i = 0; i < 4; ++i) visit(of_lane->sums[i], sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
  };
  for (int lane = 0; lane < lanes; ++lane) {
    const int group = lane / 4, pair = lane % 4;
    const auto* of_lane = static_cast<const Product*>(operands[lane]);
    for (int i = 0; i < each; ++i) {
      for (int p = 0; p < 4; ++p)
        left[group + p % 2 * 8][p / 2 * half + each * pair + i] =
            unpack((of_lane ? of_lane->left : absent)[p], i);
      for (int p = 0; p < 2; ++p)
        right[p * half + each * pair + i][group] = unpack((of_lane ? of_lane->right : absent)[p], i);
    }
  }
  each_sum([](float& from, float& to) { to = from; });
  for (auto& sums_of_row : sums) {
    const auto& row = left[&sums_of_row - sums];
    for (int depth = 0; depth < 2 * half; ++depth)
      for (int column = 0; column < 8; ++column) sums_of_row[column] += row[depth] * right[depth][column];
  }
  each_sum([](float& to, float& from) { to = from; });
}

struct Row {
  const uint32_t* own;
  const uint32_t* (&wanted)[4];
};

void spread_rows(void* const rows[lanes], unsigned) {
  for (int lane = 0; lane < lanes; ++lane) {
    if (!rows[lane]) continue;
    for (int matrix = 0; matrix < 4; ++matrix) {
      const auto* row = static_cast<const Row*>(rows[matrix * 8 + lane / 4]);
      static_cast<const Row*>(rows[lane])->wanted[matrix] = row ? row->own : absent;
    }
  }
}

}  // namespace

void multiply_operands(Operands type, float* sums, const uint32_t* left, const uint32_t* right,
                       unsigned line) {
  void (*finish)(void* const[lanes], unsigned) = nullptr;
  switch (type) {
    case Operands::half:
      finish = [](void* const operands[lanes], unsigned) {
        multiply_warp<2>(operands, [](uint32_t part, int i) {
          return float_from_half(static_cast<uint16_t>(part >> 16 * i));
        });
      };
      break;
    case Operands::bfloat:
      finish = [](void* const operands[lanes], unsigned) {
        multiply_warp<2>(operands, [](uint32_t part, int i) {
          return float_from_bfloat(static_cast<uint16_t>(part >> 16 * i));
        });
      };
      break;
    case Operands::tf32:
      finish = [](void* const operands[lanes], unsigned) {
        multiply_warp<1>(operands, [](uint32_t part, int) {
          float number;
          std::memcpy(&number, &part, sizeof number);
          return number;
        });
      };
      break;
  }
  Product mine{sums, left, right};
  exchange_with(~0u, &mine, finish, "mma_sync", line);
}

void matrix_rows(const uint32_t* (&rows)[4], const void* row, unsigned line) {
  Row mine{static_cast<const uint32_t*>(row), rows};
  exchange_with(~0u, &mine, spread_rows, "ldmatrix", line);
}

}  // namespace stitch_emulated
