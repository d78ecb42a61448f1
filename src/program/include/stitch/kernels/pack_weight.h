// Weights in the order in which a kernel's lanes take them, packed when a program is created: one thread per
// element.
//   template <class Shape>
//   struct OddPacking {
//     static constexpr int64_t count;
//     template <class Weight> __device__ static To element(const Weight* weight, int64_t i);
//   };
#pragma once

#include <cstdint>

#include "stitch/runtime/launch.h"

namespace stitch {
template <class Packing, class From, class To>
__global__ void __launch_bounds__(256)
    pack_weight_kernel(const From* __restrict__ weight, To* __restrict__ packed) {
  wait_for_previous_kernel();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i < Packing::count) packed[i] = Packing::element(weight, i);
}
template <class Packing, class From, class To>
StitchStatus pack_weight(const char* name, const From* weight, To* packed, cudaStream_t stream) {
  return launch(name, pack_weight_kernel<Packing, From, To>,
                {static_cast<unsigned>(divide_up(Packing::count, 256)), 256}, stream, weight, packed);
}

// The z axis of convolutions over fewer than three dimensions, for the structs that describe them.
struct FlatConvolution {
  static constexpr bool flat = true;
  static constexpr int size_in_z = 1, size_out_z = 1, result_z = 1, weights_z = 1;
  static constexpr int kernel_z = 1, stride_z = 1, padding_z = 0, dilation_z = 1;
  static constexpr int phases_z = 1, before_z = 0;
  static constexpr int64_t x_stride_z = 0, out_stride_z = 0, weight_stride_z = 0;
};

}  // namespace stitch
