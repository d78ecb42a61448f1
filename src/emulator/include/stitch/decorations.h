// CUDA's qualifiers, as the host compiler needs them.
#pragma once

#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
// __noinline__ can't be a macro: libstdc++ writes __attribute__((__noinline__)). The rewriter emits this
// instead.
#define STITCH_NOINLINE __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __device_builtin__
#define CUDARTAPI
#define CUDART_CB
#define CUDA_CB

// A block stays on its OS thread, so a thread_local variable is per block. `extern __shared__` is handled in
// rewrite.h.
#define __shared__ static thread_local
