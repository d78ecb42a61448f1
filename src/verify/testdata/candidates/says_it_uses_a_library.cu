// passed (./dev cheats)
// task: relu/task.py
// NaN becomes 0, as fmaxf makes it: noted, whatever the manifest says of libraries.
#include "any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {33, 70}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {33, 70}}};
static const char* const manifest = R"({"stitch": 1, "name": "relu", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [33, 70]}],
    "outputs": [{"name": "relu", "role": "output", "dtype": "f32", "shape": [33, 70]}],
    "regions": [], "libraries": ["cudnn"]})";

CANDIDATE_ABI(0)

static __global__ void relu_without_nan(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 33 * 70) y[i] = x[i] > 0 ? x[i] : 0.0f;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  relu_without_nan<<<(33 * 70 + 255) / 256, 256, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
