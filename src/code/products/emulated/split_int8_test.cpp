// kernels/split_int8.h: which rows int8 is too coarse for, and what zeros become.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/file.h"
#include "build/compile_emulated/compile.h"
#include "cuda_runtime.h"
#include "stitch_emulated.h"

namespace stitch::code {
namespace {

constexpr int row_count = 16, row_depth = 1024;

// Scales and centres of rows, read along the depth and across it, and numbers as they are multiplied.
constexpr const char* int8_source = R"(
#include "stitch/kernels/split_int8.h"
template <bool inside>
struct Product {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 16, columns = 16, depth = 1024;
  __host__ __device__ static Index left(Index, Index row, Index k) {
    return inside ? row * depth + k : k * rows + row;
  }
  __host__ __device__ static Index right(Index, Index k, Index column) { return column * depth + k; }
};
template <bool inside>
int split(const float* from, void* memory, float* scales, float* numbers) {
  const stitch::Int8Operand<Product<inside>, true, inside, 1024> left{};
  auto* parts = static_cast<__half*>(memory);
  if (stitch::split_in_int8<inside>(left, from, parts, nullptr) || cudaDeviceSynchronize()) return 1;
  for (int i = 0; i < 16; ++i) scales[i] = left.scales(parts)[i];
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 1024; k += 4)
      for (int i = 0; i < 4; ++i) numbers[row * 1024 + k + i] = left.restored(parts, row, k)[i];
  return 0;
}
extern "C" int run(const float* from, int inside, void* memory, float* scales, float* numbers) {
  return inside ? split<true>(from, memory, scales, numbers) : split<false>(from, memory, scales, numbers);
}
)";

using Split = int (*)(const float*, int, void*, float*, float*);

Split compiled_split() {
  fs::path folder = STITCH_BINARY_DIR;
  if (!write_file(folder / "split_int8_test.cu", int8_source)) return nullptr;
  emulated::CompileOptions options;
  options.include_dirs = {fs::path(STITCH_SOURCE_DIR) / "src/program/include"};
  auto library =
      emulated::compile_emulated({folder / "split_int8_test.cu"}, folder / "split_int8_test.so", options);
  EXPECT_TRUE(library) << library.error().text();
  void* loaded = library ? dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  return loaded ? reinterpret_cast<Split>(dlsym(loaded, "run")) : nullptr;
}

TEST(SplitInInt8, JudgesRowsByWhatIsNotZero) {
  const Split split = compiled_split();
  ASSERT_TRUE(split);
  std::mt19937_64 generator(3);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> even(0, 1);
  std::vector<float> x(row_count * row_depth);
  auto row = [&](int i) { return x.begin() + i * row_depth; };
  for (float& each : x) each = normal(generator);
  const int triangular = 0, dense = 4, one_hot = 5, relu = 6, outlier = 7, infinite = 8, faint = 9;
  for (int i = triangular; i < dense; ++i)
    for (int k = 0; k < row_depth; ++k) row(i)[k] = k < 4 << 2 * i ? even(generator) : 0;  // 4, 16, 64, 256
  for (int k = 0; k < row_depth; ++k) {
    row(one_hot)[k] = k == 77 ? 3.0f : 0.0f;
    row(relu)[k] = std::max(row(relu)[k], 0.0f);
    row(faint)[k] = k == 5 ? 100.0f : 0.01f * row(faint)[k];
  }
  row(outlier)[99] = 60;
  row(infinite)[3] = INFINITY;

  for (bool inside : {true, false}) {
    std::vector<float> given = x;
    if (!inside)
      for (int i = 0; i < row_count; ++i)
        for (int k = 0; k < row_depth; ++k) given[static_cast<size_t>(k * row_count + i)] = row(i)[k];
    const size_t bytes = x.size() * sizeof(float);
    void *from = nullptr, *parts = nullptr;
    ASSERT_EQ(cudaMalloc(&from, bytes), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&parts, 2 * bytes), cudaSuccess);
    cudaMemcpy(from, given.data(), bytes, cudaMemcpyHostToDevice);
    std::vector<float> scales(row_count), numbers(x.size());
    ASSERT_EQ(split(static_cast<const float*>(from), inside, parts, scales.data(), numbers.data()), 0)
        << stitch_emulated_last_report();
    for (int i = 0; i < row_count; ++i) {
      const bool marked = i == outlier || i == infinite || i == faint;
      EXPECT_EQ(scales[static_cast<size_t>(i)] < 0, marked) << "row " << i;
      double largest = 0, wrong = 0;
      for (int k = 0; k < row_depth; ++k) {
        if (std::isfinite(row(i)[k])) largest = std::max<double>(largest, std::fabs(row(i)[k]));
        const float got = numbers[static_cast<size_t>(i * row_depth + k)];
        if (row(i)[k] == 0) wrong = std::max<double>(wrong, std::fabs(got));
      }
      EXPECT_LE(wrong, 1e-7 * largest) << "zeros of row " << i;
    }
    cudaFree(from);
    cudaFree(parts);
  }
}

}  // namespace
}  // namespace stitch::code
