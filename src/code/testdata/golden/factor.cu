// graph "golden"
// input %x : f32[2,4,4]
// %y = cholesky(%x) : f32[2,4,4]
// output %y
// end

#include "stitch/loops/factor.h"
#include "stitch/loops/math.h"
#include "stitch/runtime/errors.h"
#include "stitch/runtime/launch.h"

// cholesky: 4 x 4 by a block of threads, in memory of its own. 256 B moved.
namespace {

__global__ void __launch_bounds__(128) golden(const float* __restrict__ x,  // (2, 4, 4)
                                              float* __restrict__ y,        // (2, 4, 4)
                                              float* __restrict__ a_all) {  // (32)
  stitch::wait_for_previous_kernel();
  const int matrix = static_cast<int>(blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 16; i += blockDim.x) {
    a_all[matrix * 16 + i] = x[i + matrix * 16];
  }
  stitch::cholesky_block<float>(a_all + matrix * 16, static_cast<int>(4));
  for (int i = lane; i < 16; i += blockDim.x) {
    y[i + matrix * 16] = a_all[matrix * 16 + i];
  }
}

}  // namespace

StitchStatus enqueue_golden(const float* x,   // (2, 4, 4)
                            float* y,         // (2, 4, 4)
                            void* workspace,  // 256 bytes
                            cudaStream_t stream) {
  auto* a_all = reinterpret_cast<float*>(static_cast<char*>(workspace) + 0);
  return stitch::launch("golden", golden, {2, 128}, stream, x, y, a_all);
}
