// stitch/runtime/mma.h: fragments are loaded and multiplied as the layout at its head says, whichever way the
// right operand lies.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/file.h"
#include "build/compile_emulated/compile.h"
#include "cuda_runtime.h"
#include "stitch_emulated.h"

namespace stitch::code {
namespace {

constexpr const char* source = R"(
#include "stitch/runtime/mma.h"
// left (16, 16) · right (16, 16): right as rows of its columns, or as it is.
__global__ void products(const float* left, const float* right, float* from_rows, float* from_columns) {
  __shared__ alignas(16) __half left_tile[16 * 24], columns[16 * 24], rows[16 * 24];
  for (int i = threadIdx.x; i < 256; i += 32) {
    left_tile[i / 16 * 24 + i % 16] = __float2half_rn(left[i]);
    rows[i / 16 * 24 + i % 16] = __float2half_rn(right[i]);
    columns[i % 16 * 24 + i / 16] = __float2half_rn(right[i]);
  }
  __syncthreads();
  const stitch::MmaLeft a = stitch::load_left(left_tile, 24);
  stitch::MmaRight b[2], c[2];
  stitch::load_right_from_rows(b, columns, 24);
  stitch::load_right_from_columns(c, rows, 24);
  const int group = threadIdx.x / 4, pair = threadIdx.x % 4;
  for (int n = 0; n < 2; ++n) {
    float first[4] = {}, second[4] = {1, 1, 1, 1};
    stitch::mma(first, a, b[n]);
    stitch::mma(second, a, c[n]);
    for (int i = 0; i < 4; ++i) {
      const int at = (group + i / 2 * 8) * 16 + n * 8 + 2 * pair + i % 2;
      from_rows[at] = first[i];
      from_columns[at] = second[i];
    }
  }
}
extern "C" int run(const float* left, const float* right, float* from_rows, float* from_columns) {
  products<<<1, 32>>>(left, right, from_rows, from_columns);
  return cudaDeviceSynchronize();
}
)";

TEST(Mma, MultipliesTiles) {
  fs::path folder = STITCH_BINARY_DIR;
  ASSERT_TRUE(write_file(folder / "mma_test.cu", source));
  emulated::CompileOptions options;
  options.include_dirs = {fs::path(STITCH_SOURCE_DIR) / "src/program/include"};
  auto library = emulated::compile_emulated({folder / "mma_test.cu"}, folder / "mma_test.so", options);
  ASSERT_TRUE(library) << library.error().text();
  void* loaded = dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(loaded) << dlerror();
  auto run = reinterpret_cast<int (*)(const float*, const float*, float*, float*)>(dlsym(loaded, "run"));
  ASSERT_TRUE(run);

  // Small integers: products and sums are exact.
  std::vector<float> left(256), right(256), expected(256), got(256);
  for (int i = 0; i < 256; ++i)
    left[i] = static_cast<float>(i * 7 % 23 - 11), right[i] = static_cast<float>(i * 5 % 17 - 8);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 16; ++column)
      for (int depth = 0; depth < 16; ++depth)
        expected[row * 16 + column] += left[row * 16 + depth] * right[depth * 16 + column];

  float* memory[4];
  for (float*& each : memory) ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&each), 1024), cudaSuccess);
  cudaMemcpy(memory[0], left.data(), 1024, cudaMemcpyHostToDevice);
  cudaMemcpy(memory[1], right.data(), 1024, cudaMemcpyHostToDevice);
  for (const char* order : {"forward", "reverse", "shuffle:3"}) {
    stitch_emulated_set_order(order);
    ASSERT_EQ(run(memory[0], memory[1], memory[2], memory[3]), 0) << stitch_emulated_last_report();
    cudaMemcpy(got.data(), memory[2], 1024, cudaMemcpyDeviceToHost);
    EXPECT_EQ(got, expected) << order;
    cudaMemcpy(got.data(), memory[3], 1024, cudaMemcpyDeviceToHost);
    for (float& value : got) value -= 1;  // it was added to what stood there
    EXPECT_EQ(got, expected) << order;
  }
  stitch_emulated_set_order("forward");
  for (float* each : memory) cudaFree(each);
}

}  // namespace
}  // namespace stitch::code
