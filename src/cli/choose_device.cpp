#include "cli/choose_device.h"

#include "base/error_codes.h"
#include "gpu/gpu_detect.h"

namespace stitch {

Result<runner::Device> choose_device(const std::string& name) {
  if (name == "emulated") return runner::Device::emulated;
  auto driver = detect_gpus();
  bool here = driver && !driver->gpus.empty();
  if (name == "auto") return here ? runner::Device::cuda : runner::Device::emulated;
  if (name != "cuda")
    return user_error("device", format("unknown device '{}'", name), "one of: auto, cuda, emulated");
  if (!here)
    return user_error(error_code::no_gpu,
                      "no usable GPU on this machine" + (driver ? "" : ": " + driver.error().message),
                      "use --device emulated");
  return runner::Device::cuda;
}

}  // namespace stitch
