#include "gpu/architecture.h"

#include <vector>

#include "base/text.h"

namespace stitch {

namespace {

constexpr int64_t kib = 1024;

// From the CUDA programming guide (compute capabilities, arithmetic throughput) and the architectures' white
// papers.
const std::vector<Architecture>& table() {
  static const std::vector<Architecture> rows = {
      // capability, name, shared memory per block and per SM, threads, registers, lanes: fp32, fp64, tensor
      // fp16
      {75, "sm_75", 64 * kib, 64 * kib, 1024, 65536, 64, 2, 512},
      {80, "sm_80", 163 * kib, 164 * kib, 2048, 65536, 64, 32, 1024},
      {86, "sm_86", 99 * kib, 100 * kib, 1536, 65536, 128, 2, 512},
      {89, "sm_89", 99 * kib, 100 * kib, 1536, 65536, 128, 2, 512},
      {90, "sm_90a", 227 * kib, 228 * kib, 2048, 65536, 128, 64, 2048},
      {100, "sm_100", 227 * kib, 228 * kib, 2048, 65536, 128, 64, 4096},
      {103, "sm_103", 227 * kib, 228 * kib, 2048, 65536, 128, 2, 4096},
      {120, "sm_120", 99 * kib, 100 * kib, 1536, 65536, 128, 2, 512},
  };
  return rows;
}

}  // namespace

std::span<const Architecture> supported_architectures() {
  return std::span(table()).subspan(1);  // programs need sm_80
}

Architecture architecture_of(int capability) {
  Architecture out = table().front();
  for (const Architecture& row : table())
    if (row.capability <= capability) out = row;
  if (out.capability == capability) return out;
  out.capability = capability;
  out.name = format("sm_{}", capability);
  return out;
}

Result<int> parse_compute_capability(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot != text.npos) {
    auto major = parse_integer(text.substr(0, dot)), minor = parse_integer(text.substr(dot + 1));
    if (major && minor && *major > 0 && *major < 100 && *minor >= 0 && *minor < 10)
      return static_cast<int>(*major * 10 + *minor);
  }
  return user_error("capability", format("'{}' is not a compute capability such as 9.0", text));
}

Result<int> parse_architecture(std::string_view name) {
  std::string_view digits = name.starts_with("sm_") ? name.substr(3) : "";
  if (digits.ends_with('a') || digits.ends_with('f')) digits.remove_suffix(1);
  auto number = parse_integer(digits);
  if (number && digits.size() <= 3 && *number >= 10) return static_cast<int>(*number);
  return user_error("architecture", format("'{}' is not an architecture such as sm_90a", name));
}

Result<void> check_architecture(std::string_view needs, std::string_view architecture) {
  STITCH_TRY(int least, parse_architecture(needs));
  STITCH_TRY(int there, parse_architecture(architecture));
  const bool only_there = needs.ends_with('a');
  if (only_there ? needs == architecture : there >= least) return {};
  return user_error("architecture", format("the program needs {}, and this is {}", needs, architecture),
                    format("build it for {}{}, or write it for this GPU: stitchcuda code --gpu", needs,
                           only_there ? "" : " or newer"));
}

}  // namespace stitch
