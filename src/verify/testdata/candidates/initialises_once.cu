// passed (./dev cheats)
// What careful C++ looks like: std::call_once around what a process needs once, a lock, an error text for
// each thread.
#include <mutex>
#include <string>

#include "row_center.h"

static std::once_flag once;
static std::mutex lock;
static thread_local std::string words;
static float* ones = nullptr;  // (columns)

static __global__ void fill(float* values) { values[threadIdx.x] = 1; }

// The mean as a product with ones, as somebody who likes products would have it.
static __global__ void center_by_product(const float* x, const float* ones, const float* weight, float* y) {
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[blockIdx.x * columns + i] * ones[i];
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - sum / columns) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  std::call_once(once, [&] {
    if (cudaMalloc(&ones, columns * sizeof(float)) != cudaSuccess) return;
    fill<<<1, columns, 0, stream>>>(ones);
  });
  const std::lock_guard<std::mutex> alone(lock);
  if (!ones) {
    words = "no memory for ones";
    last_error = words.c_str();
    return STITCH_OUT_OF_MEMORY;
  }
  center_by_product<<<rows, columns, 0, stream>>>(x, ones, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
