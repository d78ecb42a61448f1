#include "device/gpu_spec.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace stitch {

extern const std::string_view embedded_gpus_json;  // made from gpus.json by cmake/embed.cmake

namespace {

GpuSpec read(const Json& entry) {
  GpuSpec gpu;
  gpu.name = entry.at("name");
  gpu.aliases = entry.at("aliases").get<std::vector<std::string>>();
  gpu.compute_capability = entry.at("compute_capability");
  gpu.sms = entry.at("sms");
  gpu.memory = entry.at("memory_gb").get<double>() * 1e9;
  gpu.l2 = entry.at("l2_mb").get<double>() * 1e6;
  gpu.data_sheet_bandwidth = entry.at("bandwidth_gbps").get<double>() * 1e9;
  gpu.measured = entry.contains("measured");
  const Json& best = gpu.measured ? entry.at("measured") : entry;
  gpu.bandwidth = best.at("bandwidth_gbps").get<double>() * 1e9;
  gpu.tensor_fp16 = best.at("tensor_fp16_tflops").get<double>() * 1e12;
  gpu.tensor_tf32 = entry.at("tensor_tf32_tflops").get<double>() * 1e12;
  gpu.fp32 = entry.at("fp32_tflops").get<double>() * 1e12;
  gpu.fp64 = entry.at("fp64_tflops").get<double>() * 1e12;
  gpu.launch_overhead = entry.at("launch_overhead_us").get<double>() * 1e-6;
  return gpu;
}

std::vector<GpuSpec> read_all() {
  auto document = parse_json(embedded_gpus_json);
  require(bool(document), "gpus.json is valid JSON");
  std::vector<GpuSpec> out;
  for (const Json& entry : document->at("gpus")) out.push_back(read(entry));
  return out;
}

// "NVIDIA A100-SXM4-80GB" and "a100 sxm4 80gb" are the same name.
std::string plain(std::string_view name) {
  std::string out;
  for (unsigned char c : name)
    if (std::isalnum(c)) out += static_cast<char>(std::tolower(c));
  return out.starts_with("nvidia") ? out.substr(6) : out;
}

}  // namespace

std::span<const GpuSpec> all_gpus() {
  static const std::vector<GpuSpec> gpus = read_all();
  return gpus;
}

Result<GpuSpec> find_gpu(std::string_view name) {
  std::string wanted = plain(name);
  std::vector<std::string> names, spellings;
  for (const GpuSpec& gpu : all_gpus()) {
    names.push_back(gpu.name);
    spellings.push_back(plain(gpu.name));
    if (spellings.back() == wanted) return gpu;
    for (const std::string& alias : gpu.aliases) {
      if (plain(alias) == wanted) return gpu;
    }
  }
  std::string fix = "one of: " + join(names, ", ");
  if (auto near = nearest(wanted, spellings))
    for (size_t i = 0; i < names.size(); ++i)
      if (spellings[i] == *near) fix = format("did you mean {}? Known: {}", names[i], join(names, ", "));
  return user_error("unknown_gpu", format("no GPU named '{}' is known", name), fix);
}

}  // namespace stitch
