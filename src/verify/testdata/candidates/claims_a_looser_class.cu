// correctness: wrong (./dev cheats)
// A manifest of class half around arithmetic of halves: the class is the Verifier's to choose.
#define CANDIDATE_MANIFEST other_manifest
static const char* const other_manifest = R"({"stitch": 1, "name": "row_center", "class": "half",
    "parameters": [{"name": "weight", "role": "parameter", "dtype": "f32", "shape": [65], "data": "weight"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [37, 65]}],
    "outputs": [{"name": "mul", "role": "output", "dtype": "f32", "shape": [37, 65]}],
    "regions": [], "libraries": []})";
#include "row_center.h"

#include <cuda_fp16.h>

static __global__ void round_to_half(float* y) {
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = __half2float(__float2half(y[i]));
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  honest(x, weight, y, stream);
  round_to_half<<<rows, columns, 0, stream>>>(y);
  return STITCH_OK;
}
