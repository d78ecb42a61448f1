// compute: products of fragments that stay in registers, four accumulators a warp.
#include <cuda_fp16.h>
#include <mma.h>

#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 8, 1), rounds = ON_GPU_OR_EMULATED(4000, 2);
static constexpr __host__ __device__ long long input_floats() { return 256; }
static constexpr __host__ __device__ long long output_floats() { return blocks * 8 * 256ll; }

static __global__ void multiply(const float* x, float* y) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4];
  wmma::fill_fragment(a, __float2half(0.001f * x[threadIdx.x % 16]));
  wmma::fill_fragment(b, __float2half(0.001f * x[threadIdx.x % 16]));
  for (int k = 0; k < 4; ++k) wmma::fill_fragment(sum[k], static_cast<float>(k));
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int k = 0; k < 4; ++k) wmma::mma_sync(sum[k], a, b, sum[k]);
  for (int k = 1; k < 4; ++k)
    for (int e = 0; e < sum[0].num_elements; ++e) sum[0].x[e] += sum[k].x[e];
  wmma::store_matrix_sync(y + (blockIdx.x * 8ll + threadIdx.x / 32) * 256, sum[0], 16, wmma::mem_row_major);
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  multiply<<<blocks, 256, 0, stream>>>(x, y);
  return cudaSuccess;
}
