#include "cli/choose_gpu.h"

#include "device/gpu_detect.h"

namespace stitch {

Result<GpuSpec> choose_gpu(const std::string& name) {
  if (!name.empty()) return find_gpu(name);
  if (auto driver = detect_gpus()) return spec_of(driver->gpus[0]);
  return find_gpu("H200");
}

}  // namespace stitch
