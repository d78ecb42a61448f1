// One way to launch a kernel: by its name in messages, and with its error checked.
//   STITCH_OK_OR_RETURN(launch("row_softmax", row_softmax<256>, {rows, 256}, stream, x, y));
#pragma once

#include <tuple>
#include <utility>

#include "stitch/runtime/errors.h"

namespace stitch {
struct Geometry {
  dim3 grid, block;
  size_t shared_bytes = 0;  // dynamic
  bool resident = false;    // all blocks at once, or an error: they may wait for each other
};

inline int64_t divide_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

// A thread for each of `count`, so many of them a block.
inline Geometry spread(int64_t count, int threads) {
  return {dim3(static_cast<unsigned>(divide_up(count, threads))), dim3(static_cast<unsigned>(threads))};
}

// A kernel has 48 KiB of shared memory without asking, together with what it declares itself.
template <class Kernel>
StitchStatus ask_for_shared(Kernel kernel, size_t bytes) {
  constexpr size_t surely_there = 32 << 10;
  if (bytes > surely_there)
    STITCH_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  return STITCH_OK;
}

// Arguments convert to the kernel's parameters as in any call.
template <class... Parameters, class... Arguments>
StitchStatus launch(const char* name, void (*kernel)(Parameters...), const Geometry& geometry,
                    cudaStream_t stream, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "as many arguments as the kernel has parameters");
  STITCH_OK_OR_RETURN(ask_for_shared(kernel, geometry.shared_bytes));
  std::tuple<Parameters...> converted(std::forward<Arguments>(arguments)...);
  cudaError_t error = std::apply(
      [&](auto&... values) {
        void* pointers[] = {const_cast<void*>(static_cast<const void*>(&values))..., nullptr};
#if STITCH_EMULATED
        // The same launch, under a name that the emulated GPU's reports can show.
        return stitch_emulated::submit(
            stitch_emulated::Signature<Parameters...>::kernel(kernel, name),
            {geometry.grid, geometry.block, geometry.shared_bytes, stream, geometry.resident}, pointers);
#else
        const void* function = reinterpret_cast<const void*>(kernel);
        if (geometry.resident)
          return cudaLaunchCooperativeKernel(function, geometry.grid, geometry.block, pointers,
                                             geometry.shared_bytes, stream);
        return cudaLaunchKernel(function, geometry.grid, geometry.block, pointers, geometry.shared_bytes,
                                stream);
#endif
      },
      converted);
  if (error == cudaSuccess) return STITCH_OK;
  (void)cudaGetLastError();
  return fail(status_of(error), "kernel %s <<<(%u,%u,%u), (%u,%u,%u), %zu>>>: %s (%s)", name, geometry.grid.x,
              geometry.grid.y, geometry.grid.z, geometry.block.x, geometry.block.y, geometry.block.z,
              geometry.shared_bytes, cudaGetErrorString(error), cudaGetErrorName(error));
}

}  // namespace stitch
