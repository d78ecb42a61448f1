// Launches a kernel with a name for messages, and checks the error.
//   STITCH_OK_OR_RETURN(launch("row_softmax", row_softmax<256>, {rows, 256}, stream, x, y));
#pragma once

#include "stitch/runtime/errors.h"

namespace stitch {
struct Geometry {
  dim3 grid, block;
  size_t shared_bytes = 0;  // dynamic
  bool resident = false;    // all blocks must be co-resident, otherwise an error
  int cluster = 1;          // so many consecutive blocks are co-scheduled
};

// A grid's blocks; a number that no grid has fails at the launch.
inline unsigned blocks_of(int64_t count) {
  return count < (int64_t{1} << 31) ? static_cast<unsigned>(count) : ~0u;
}

inline int64_t divide_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

// One thread per element, `threads` per block.
inline Geometry spread(int64_t count, int threads) {
  return {dim3(blocks_of(divide_up(count, threads))), dim3(static_cast<unsigned>(threads))};
}

// Programmatic dependent launch: the next kernel is set up while this one runs, and its blocks start when the
// last block of this one exits. Earlier writes are visible only after wait_for_previous_kernel(), so every
// kernel begins with it; without the attribute it costs one instruction.
//
// No kernel triggers the next one before it ends (griddepcontrol.launch_dependents): early blocks would crowd
// the few multiprocessors that happen to be free. With it MobileNet-v2 took 1.06 to 1.09 of its time on an
// H200; ResNet-18, where most launches follow a cuDNN kernel, 0.90.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if !STITCH_EMULATED && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Enables it for this thread's launches during its lifetime. Only for programs whose kernels all begin with
// wait_for_previous_kernel().
class ProgrammaticLaunches {
 public:
  explicit ProgrammaticLaunches(bool on) : before_(on_) { on_ = on; }
  ~ProgrammaticLaunches() { on_ = before_; }
  ProgrammaticLaunches(const ProgrammaticLaunches&) = delete;
  ProgrammaticLaunches& operator=(const ProgrammaticLaunches&) = delete;
  static bool on() { return on_; }

 private:
  // Hidden: several programs may be loaded.
  __attribute__((visibility("hidden"))) inline static thread_local bool on_ = false;
  bool before_;
};

#if !STITCH_EMULATED
// Co-resident blocks start only when the GPU is free, as without the attribute.
inline cudaError_t launch_with(const void* kernel, const Geometry& geometry, void** arguments,
                               cudaStream_t stream) {
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (geometry.cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = static_cast<unsigned>(geometry.cluster);
    attributes[count].val.clusterDim.y = attributes[count].val.clusterDim.z = 1;
    ++count;
  }
  if (geometry.resident || ProgrammaticLaunches::on()) {
    attributes[count].id = geometry.resident ? cudaLaunchAttributeCooperative
                                             : cudaLaunchAttributeProgrammaticStreamSerialization;
    if (geometry.resident)
      attributes[count].val.cooperative = 1;
    else
      attributes[count].val.programmaticStreamSerializationAllowed = 1;
    ++count;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = geometry.grid;
  config.blockDim = geometry.block;
  config.dynamicSmemBytes = geometry.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}
#endif

// A kernel has 48 KiB of shared memory, static included, unless it opts in to more.
inline StitchStatus ask_for_shared(const void* kernel, size_t bytes) {
  constexpr size_t always_available = 32 << 10;
  if (bytes > always_available)
    STITCH_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  return STITCH_OK;
}

inline StitchStatus launched(cudaError_t error, const char* name, const Geometry& geometry) {
  if (error == cudaSuccess) return STITCH_OK;
  (void)cudaGetLastError();
  return fail(status_of(error), "kernel %s <<<(%u,%u,%u), (%u,%u,%u), %zu>>>: %s (%s)", name, geometry.grid.x,
              geometry.grid.y, geometry.grid.z, geometry.block.x, geometry.block.y, geometry.block.z,
              geometry.shared_bytes, cudaGetErrorString(error), cudaGetErrorName(error));
}

// Says nothing of T to a call: the kernel alone decides the types.
template <class T>
struct Same {
  using type = T;
};

// Arguments convert to the kernel's parameters as in any call.
template <class... Parameters>
StitchStatus launch(const char* name, void (*kernel)(Parameters...), const Geometry& geometry,
                    cudaStream_t stream, typename Same<Parameters>::type... arguments) {
  const void* address = reinterpret_cast<const void*>(kernel);
  STITCH_OK_OR_RETURN(ask_for_shared(address, geometry.shared_bytes));
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
#if STITCH_EMULATED
  // The same launch, with a name for the emulated GPU's reports.
  cudaError_t error = stitch_emulated::submit(stitch_emulated::Signature<Parameters...>::kernel(kernel, name),
                                              {geometry.grid, geometry.block, geometry.shared_bytes, stream,
                                               geometry.resident, static_cast<unsigned>(geometry.cluster)},
                                              pointers);
#else
  cudaError_t error = launch_with(address, geometry, pointers, stream);
#endif
  return launched(error, name, geometry);
}

}  // namespace stitch
