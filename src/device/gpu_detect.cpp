#include "device/gpu_detect.h"

#include <dlfcn.h>

#include <array>

#include "base/file.h"
#include "base/text.h"

namespace stitch {

namespace {

// The few calls we need, spelt as in cuda.h, which a machine without CUDA doesn't have.
using Device = int;
constexpr int success = 0, no_device = 100;
constexpr int attribute_sms = 16, attribute_major = 75, attribute_minor = 76;

class DriverLibrary {
 public:
  DriverLibrary() : handle_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  bool loaded() const { return handle_ != nullptr; }

  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle_, name));
    return function ? function(arguments...) : -1;
  }

 private:
  void* handle_;  // stays open: the driver doesn't survive being unloaded
};

std::string error_name(const DriverLibrary& driver, int code) {
  const char* text = nullptr;
  driver.call("cuGetErrorString", code, &text);
  return text ? text : format("error {}", code);
}

}  // namespace

Result<Driver> detect_gpus() {
  DriverLibrary driver;
  if (!driver.loaded()) return work_error("no_driver", "no NVIDIA driver (libcuda.so.1)");
  int code = driver.call("cuInit", 0u);
  if (code == no_device) return work_error("no_gpu", "the NVIDIA driver is there, but sees no GPU");
  if (code != success)
    return work_error("driver", format("the NVIDIA driver doesn't start: {}", error_name(driver, code)));

  Driver out;
  if (auto version = read_file("/sys/module/nvidia/version")) out.version = trim(*version);
  int cuda = 0, count = 0;
  driver.call("cuDriverGetVersion", &cuda);
  out.cuda_version = format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  driver.call("cuDeviceGetCount", &count);
  for (int i = 0; i < count; ++i) {
    Device device = 0;
    if (driver.call("cuDeviceGet", &device, i) != success) continue;
    DetectedGpu gpu;
    std::array<char, 128> name{};
    driver.call("cuDeviceGetName", name.data(), static_cast<int>(name.size()) - 1, device);
    gpu.name = name.data();
    size_t memory = 0;
    driver.call("cuDeviceTotalMem_v2", &memory, device);
    gpu.memory_bytes = static_cast<int64_t>(memory);
    int major = 0, minor = 0;
    driver.call("cuDeviceGetAttribute", &gpu.sms, attribute_sms, device);
    driver.call("cuDeviceGetAttribute", &major, attribute_major, device);
    driver.call("cuDeviceGetAttribute", &minor, attribute_minor, device);
    gpu.compute_capability = format("{}.{}", major, minor);
    out.gpus.push_back(std::move(gpu));
  }
  if (out.gpus.empty()) return work_error("no_gpu", "the NVIDIA driver is there, but sees no GPU");
  return out;
}

}  // namespace stitch
