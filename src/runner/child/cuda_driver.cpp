#include "runner/child/cuda_driver.h"

#include <dlfcn.h>

namespace stitch::runner {

Result<CudaDriver> CudaDriver::load() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return work_error("no_device", "no NVIDIA driver (libcuda.so.1)");
  CudaDriver out;
  std::string missing;
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function) missing += format(" {}", name);
  };
  find(out.init, "cuInit");
  find(out.device_get, "cuDeviceGet");
  find(out.device_name, "cuDeviceGetName");
  find(out.primary_retain, "cuDevicePrimaryCtxRetain");
  find(out.set_current, "cuCtxSetCurrent");
  find(out.synchronise, "cuCtxSynchronize");
  find(out.set_limit, "cuCtxSetLimit");
  find(out.reset_persisting_cache, "cuCtxResetPersistingL2Cache");
  find(out.memory_info, "cuMemGetInfo_v2");
  find(out.allocate, "cuMemAlloc_v2");
  find(out.free, "cuMemFree_v2");
  find(out.to_device, "cuMemcpyHtoD_v2");
  find(out.to_host, "cuMemcpyDtoH_v2");
  find(out.on_device, "cuMemcpyDtoD_v2");
  find(out.on_device_in_order, "cuMemcpyDtoDAsync_v2");
  find(out.allocate_on_host, "cuMemHostAlloc");
  find(out.fill_words, "cuMemsetD32_v2");
  find(out.import_memory, "cuMemImportFromShareableHandle");
  find(out.release_memory, "cuMemRelease");
  find(out.reserve_addresses, "cuMemAddressReserve");
  find(out.free_addresses, "cuMemAddressFree");
  find(out.map, "cuMemMap");
  find(out.unmap, "cuMemUnmap");
  find(out.set_access, "cuMemSetAccess");
  find(out.stream_create, "cuStreamCreate");
  find(out.launch_host_function, "cuLaunchHostFunc");
  find(out.begin_capture, "cuStreamBeginCapture_v2");
  find(out.end_capture, "cuStreamEndCapture");
  find(out.instantiate, "cuGraphInstantiateWithFlags");
  find(out.launch_graph, "cuGraphLaunch");
  find(out.destroy_instance, "cuGraphExecDestroy");
  find(out.destroy_graph, "cuGraphDestroy");
  find(out.event_create, "cuEventCreate");
  find(out.event_record, "cuEventRecord");
  find(out.event_elapsed, "cuEventElapsedTime");
  find(out.profiler_start, "cuProfilerStart");
  find(out.profiler_stop, "cuProfilerStop");
  find(out.error_name, "cuGetErrorName");
  find(out.error_text, "cuGetErrorString");
  if (!missing.empty())
    return work_error("no_device", "the NVIDIA driver lacks" + missing, "install a newer driver");
  return out;
}

std::string CudaDriver::words_for(Status status) const {
  const char *name = nullptr, *text = nullptr;
  error_name(status, &name);
  error_text(status, &text);
  return format("{}: {}", name ? name : format("CUDA error {}", status), text ? text : "unknown");
}

}  // namespace stitch::runner
