#include "gpu/gpu_detect.h"

#include <dlfcn.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error_codes.h"
#include "base/json.h"
#include "base/text.h"

namespace stitch {

namespace {

// Declared here, since a machine without CUDA has no cuda.h.
using Device = int;
constexpr int success = 0, no_device = 100;
// CUdevice_attribute. Clocks are in kHz.
enum Attribute : int {
  clock_rate = 13,
  multiprocessors = 16,
  memory_clock_rate = 36,
  memory_bus_width = 37,
  l2_size = 38,
  threads_per_multiprocessor = 39,
  capability_major = 75,
  capability_minor = 76,
  shared_per_multiprocessor = 81,
  registers_per_multiprocessor = 82,
  shared_per_block_optin = 97,
};

class DriverLibrary {
 public:
  explicit DriverLibrary(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  bool loaded() const { return handle_ != nullptr; }

  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle_, name));
    return function ? function(arguments...) : -1;
  }

 private:
  void* handle_;  // never closed: the driver doesn't survive dlclose
};

std::string error_name(const DriverLibrary& driver, int code) {
  const char* text = nullptr;
  driver.call("cuGetErrorString", code, &text);
  return text ? text : format("error {}", code);
}

DetectedGpu describe(const DriverLibrary& driver, Device device) {
  DetectedGpu gpu;
  std::array<char, 128> name{};
  driver.call("cuDeviceGetName", name.data(), static_cast<int>(name.size()) - 1, device);
  gpu.name = name.data();
  size_t memory = 0;
  driver.call("cuDeviceTotalMem_v2", &memory, device);
  gpu.memory_bytes = static_cast<int64_t>(memory);
  auto ask = [&](Attribute attribute) {
    int value = 0;
    const int code = driver.call("cuDeviceGetAttribute", &value, static_cast<int>(attribute), device);
    return code == success ? value : 0;
  };
  gpu.sms = ask(multiprocessors);
  gpu.compute_capability = format("{}.{}", ask(capability_major), ask(capability_minor));
  gpu.l2_bytes = ask(l2_size);
  gpu.shared_per_block = ask(shared_per_block_optin);
  gpu.shared_per_sm = ask(shared_per_multiprocessor);
  gpu.registers_per_sm = ask(registers_per_multiprocessor);
  gpu.threads_per_sm = ask(threads_per_multiprocessor);
  gpu.clock = 1e3 * ask(clock_rate);
  gpu.memory_clock = 1e3 * ask(memory_clock_rate);
  gpu.memory_bus_bits = ask(memory_bus_width);
  return gpu;
}

// The most similar GPU of our table, for data the driver doesn't report. Of several the fastest: a floor may
// be too low, never too high.
const GpuSpec& most_alike(const Architecture& architecture) {
  const GpuSpec* best = &all_gpus().front();
  auto distance = [&](const GpuSpec& one) {
    return std::pair(std::abs(one.architecture.capability - architecture.capability),
                     -one.data_sheet_bandwidth);
  };
  for (const GpuSpec& one : all_gpus())
    if (distance(one) < distance(*best)) best = &one;
  return *best;
}

}  // namespace

GpuSpec spec_of(const DetectedGpu& gpu) {
  if (auto known = find_gpu(gpu.name)) return *known;
  GpuSpec out;
  out.name = gpu.name;
  out.compute_capability = gpu.compute_capability;
  out.source = GpuSpec::Source::driver;
  auto capability = parse_compute_capability(gpu.compute_capability);
  out.architecture = architecture_of(capability ? *capability : 0);
  const GpuSpec& alike = most_alike(out.architecture);
  apply_architecture(out);
  if (gpu.shared_per_block > 0) out.shared_per_block = gpu.shared_per_block;
  if (gpu.shared_per_sm > 0) out.shared_per_sm = gpu.shared_per_sm;
  if (gpu.registers_per_sm > 0) out.registers_per_sm = gpu.registers_per_sm;
  if (gpu.threads_per_sm > 0) out.threads_per_sm = gpu.threads_per_sm;
  out.sms = gpu.sms > 0 ? gpu.sms : alike.sms;
  out.memory = static_cast<double>(gpu.memory_bytes);
  out.l2 = gpu.l2_bytes > 0 ? static_cast<double>(gpu.l2_bytes) : alike.l2;

  // Double data rate. Virtual GPUs may hide their clocks.
  out.data_sheet_bandwidth = 2 * gpu.memory_clock * gpu.memory_bus_bits / 8;
  if (out.data_sheet_bandwidth == 0) out.data_sheet_bandwidth = alike.data_sheet_bandwidth;
  out.bandwidth = out.data_sheet_bandwidth;
  const double clock =
      gpu.clock > 0 ? gpu.clock : alike.fp32 / (2.0 * alike.architecture.fp32_lanes * alike.sms);
  auto rate = [&](int lanes) { return 2 * clock * lanes * out.sms; };
  const bool half_rate = gpu.name.find("GeForce") != std::string::npos;
  out.tensor_fp16 = out.data_sheet_fp16 = rate(out.architecture.tensor_fp16_lanes) / (half_rate ? 2 : 1);
  out.tensor_tf32 = out.tensor_fp16 / 2;
  out.tensor_fp8 = out.architecture.mma_fp8() ? 2 * out.tensor_fp16 : 0;
  out.fp32 = rate(out.architecture.fp32_lanes);
  out.fp64 = rate(out.architecture.fp64_lanes);
  estimate_library_rates(out);
  out.launch_overhead = alike.launch_overhead;
  out.kernel_overhead = alike.kernel_overhead;
  return out;
}

Result<Driver> detect_gpus(const char* driver_library) {
  DriverLibrary driver(driver_library);
  if (!driver.loaded()) return work_error(error_code::no_driver, "no NVIDIA driver (libcuda.so.1)");
  int code = driver.call("cuInit", 0u);
  if (code == no_device)
    return work_error(error_code::no_gpu, "the NVIDIA driver is installed, but finds no GPU");
  if (code != success)
    return work_error("driver",
                      format("the NVIDIA driver fails to initialise: {}", error_name(driver, code)));

  Driver out;
  if (auto version = read_file("/sys/module/nvidia/version")) out.version = trim(*version);
  int cuda = 0, count = 0;
  driver.call("cuDriverGetVersion", &cuda);
  out.cuda_version = format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  driver.call("cuDeviceGetCount", &count);
  for (int i = 0; i < count; ++i) {
    Device device = 0;
    if (driver.call("cuDeviceGet", &device, i) != success) continue;
    out.gpus.push_back(describe(driver, device));
  }
  if (out.gpus.empty())
    return work_error(error_code::no_gpu, "the NVIDIA driver is installed, but finds no GPU");
  return out;
}

fs::path calibration_file(const std::string& gpu) {
  std::string name;
  for (unsigned char c : gpu) name += std::isalnum(c) ? static_cast<char>(std::tolower(c)) : '_';
  return cache_folder() / "calibration" / (name + ".json");
}

Result<GpuSpec> choose_gpu(const std::string& name) {
  auto named = [&]() -> Result<GpuSpec> {
    if (!name.empty()) return find_gpu(name);
    if (auto driver = detect_gpus()) return spec_of(driver->gpus[0]);
    return find_gpu("H200");
  };
  STITCH_TRY(GpuSpec gpu, named());
  const fs::path own = calibration_file(gpu.name);
  if (!fs::exists(own)) return gpu;
  STITCH_TRY(std::string text, read_file(own));
  auto document = parse_json(text);
  if (!document) return within(own.string(), std::move(document).error());
  auto calibration = read_calibration(*document);
  if (!calibration) return within(own.string(), std::move(calibration).error());
  gpu.calibration = std::make_shared<const Calibration>(*std::move(calibration));
  return gpu;
}

}  // namespace stitch
