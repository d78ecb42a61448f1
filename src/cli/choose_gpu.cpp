#include "cli/choose_gpu.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "gpu/gpu_detect.h"

namespace stitch {

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

}  // namespace stitch
