// graph "golden"
// input %x : f32[64,1000]
// %y = cumsum(%x) dim=1 : f32[64,1000]
// output %y
// end

#include "stitch/loops/math.h"
#include "stitch/loops/reduce.h"
#include "stitch/loops/scan.h"
#include "stitch/loops/vector.h"
#include "stitch/runtime/errors.h"
#include "stitch/runtime/launch.h"
#include "stitch/runtime/tensors.h"

// cumsum: a block along each row, chunk by chunk. 512 kB moved.
namespace {

template <bool aligned>
__global__ void __launch_bounds__(256) golden(const float* __restrict__ x,  // (64, 1000)
                                              float* __restrict__ y) {      // (64, 1000)
  stitch::wait_for_previous_kernel();
  const int row = static_cast<int>(blockIdx.x);
  float carry = 0.0f;
  const int index = static_cast<int>(threadIdx.x);
  float mine[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) mine[e] = 0.0f;
  if (index < 250) {
    const auto x_vector = stitch::load_vector<aligned, 4>(x + index * 4 + row * 1000);
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      mine[v] = x_vector[v];
    }
  }
  float total = 0.0f;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    total = stitch::Add()(total, mine[e]);
    mine[e] = total;
  }
  const float before = stitch::scan_block<256>(total, carry, stitch::Add());
  if (index < 250) {
    stitch::Pack<float, 4> y_out;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      y_out[v] = stitch::Add()(before, mine[v]);
    }
    stitch::store_vector<aligned>(y + index * 4 + row * 1000, y_out);
  }
}

}  // namespace

StitchStatus enqueue_golden(const float* x,  // (64, 1000)
                            float* y,        // (64, 1000)
                            cudaStream_t stream) {
  bool aligned = stitch::is_aligned(x, 16) && stitch::is_aligned(y, 16);
  return stitch::launch("golden", aligned ? golden<true> : golden<false>, {64, 256}, stream, x, y);
}
