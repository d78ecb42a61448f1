#include "gpu/gpu_spec.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace stitch {

extern const std::string_view embedded_gpus_json;  // generated from gpus.json by cmake/embed.cmake

namespace {

// Shared memory reserved by the system per block.
constexpr int64_t reserved_per_block = 1024;

GpuSpec read(const Json& entry) {
  GpuSpec gpu;
  gpu.name = entry.at("name");
  gpu.aliases = entry.at("aliases").get<std::vector<std::string>>();
  gpu.compute_capability = entry.at("compute_capability");
  gpu.sms = entry.at("sms");
  gpu.memory = entry.at("memory_gb").get<double>() * 1e9;
  gpu.l2 = entry.at("l2_mb").get<double>() * 1e6;
  auto tera = [&](const char* key) { return entry.at(key).get<double>() * 1e12; };
  gpu.bandwidth = gpu.data_sheet_bandwidth = entry.at("bandwidth_gbps").get<double>() * 1e9;
  gpu.tensor_fp16 = gpu.data_sheet_fp16 = tera("tensor_fp16_tflops");
  gpu.tensor_tf32 = tera("tensor_tf32_tflops");
  if (entry.contains("tensor_fp8_tflops")) gpu.tensor_fp8 = tera("tensor_fp8_tflops");
  gpu.fp32 = tera("fp32_tflops");
  gpu.fp64 = tera("fp64_tflops");
  gpu.launch_overhead = entry.at("launch_overhead_us").get<double>() * 1e-6;
  gpu.kernel_overhead = entry.at("kernel_overhead_us").get<double>() * 1e-6;
  auto capability = parse_compute_capability(gpu.compute_capability);
  require(bool(capability), "gpus.json has compute capabilities");
  gpu.architecture = architecture_of(*capability);
  apply_architecture(gpu);
  estimate_library_rates(gpu);
  if (!entry.contains("measured")) return gpu;
  gpu.source = GpuSpec::Source::measured;
  const std::map<std::string, std::pair<double*, double>> known = {
      {"bandwidth_gbps", {&gpu.bandwidth, 1e9}},
      {"tensor_fp16_tflops", {&gpu.tensor_fp16, 1e12}},
      {"fp32_products_tflops", {&gpu.fp32_products, 1e12}},
      {"tf32_products_tflops", {&gpu.tf32_products, 1e12}},
      {"fp16_long_products_tflops", {&gpu.fp16_long_products, 1e12}},
      {"fp16_convolutions_tflops", {&gpu.fp16_convolutions, 1e12}},
      {"tf32_convolutions_tflops", {&gpu.tf32_convolutions, 1e12}}};
  for (const auto& [key, value] : entry.at("measured").items()) {
    auto found = known.find(key);
    require(found != known.end(), "gpus.json has only measured figures that somebody reads");
    *found->second.first = value.get<double>() * found->second.second;
  }
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

std::string_view name(GpuSpec::Source source) {
  switch (source) {
    case GpuSpec::Source::data_sheet: return "data sheet";
    case GpuSpec::Source::measured: return "measured";
    case GpuSpec::Source::driver: return "driver";
  }
  return "";
}

int GpuSpec::blocks_per_sm(int threads, int64_t shared_bytes) const {
  const int64_t by_shared = shared_per_sm / (shared_bytes + reserved_per_block);
  return static_cast<int>(std::min<int64_t>({threads_per_sm / threads, by_shared, 32}));
}

void apply_architecture(GpuSpec& gpu) {
  gpu.shared_per_block = gpu.architecture.shared_per_block;
  gpu.shared_per_sm = gpu.architecture.shared_per_sm;
  gpu.registers_per_sm = gpu.architecture.registers_per_sm;
  gpu.threads_per_sm = gpu.architecture.threads_per_sm;
}

void estimate_library_rates(GpuSpec& gpu) {
  // Measured on an H200 (gpus.json), over its data sheet.
  gpu.fp32_products = 0.75 * gpu.fp32;
  gpu.tf32_products = 0.77 * gpu.tensor_tf32;
  gpu.fp16_long_products = 0.63 * gpu.data_sheet_fp16;
  gpu.fp16_convolutions = 0.61 * gpu.data_sheet_fp16;
  gpu.tf32_convolutions = 0.69 * gpu.tensor_tf32;
}

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
  return user_error("unknown_gpu", format("unknown GPU '{}'", name), fix);
}

}  // namespace stitch
