// passed (./dev cheats)
// task: pooling
// Honest: both windows in one kernel, nothing written in between.
#include "tasks/pooling.h"

static __global__ void pool(const float* x, float* y) {
  const int total = planes * out_h * out_w;
  for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < total; e += gridDim.x * blockDim.x) {
    const int plane = e / (out_h * out_w), oy = e / out_w % out_h, ox = e % out_w;
    float sum = 0;
    for (int dy = 0; dy < 2; ++dy)
      for (int dx = 0; dx < 2; ++dx) {
        const int my = oy * 2 + dy - 1, mx = ox * 2 + dx - 1;
        if (my < 0 || my >= mid_h || mx < 0 || mx >= mid_w) continue;
        float largest = -INFINITY;
        for (int iy = my * 2 - 1; iy < my * 2 + 2; ++iy)
          for (int ix = mx * 2 - 1; ix < mx * 2 + 2; ++ix)
            if (iy >= 0 && iy < in_h && ix >= 0 && ix < in_w) largest = fmaxf(largest, x[(plane * in_h + iy) * in_w + ix]);
        sum += largest;
      }
    y[e] = sum / 4;
  }
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  pool<<<3, 64, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
