#include "cli/choose.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/json.h"
#include "base/text.h"
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

namespace {

Result<GpuSpec> named(const std::string& name) {
  if (!name.empty()) return find_gpu(name);
  if (auto driver = detect_gpus()) return spec_of(driver->gpus[0]);
  return find_gpu("H200");
}

}  // namespace

fs::path calibration_file(const std::string& gpu) {
  std::string name;
  for (unsigned char c : gpu) name += std::isalnum(c) ? static_cast<char>(std::tolower(c)) : '_';
  return cache_folder() / "calibration" / (name + ".json");
}

Result<GpuSpec> choose_gpu(const std::string& name) {
  STITCH_TRY(GpuSpec gpu, named(name));
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

Result<std::vector<std::string>> baselines_named(const std::string& names) {
  static const std::vector<std::string> all = {"eager", "eager-graph", "compile", "compile-graph"};
  if (names == "none") return std::vector<std::string>();
  if (names == "all") return all;
  std::vector<std::string> list = split(names, ',');
  for (const std::string& one : list)
    if (std::ranges::find(all, one) == all.end())
      return user_error("baselines", format("unknown baseline '{}'", one),
                        "one or more of: " + join(all, ", ") + "; or all, or none");
  return list;
}

}  // namespace stitch
