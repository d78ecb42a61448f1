#include "base/machine/machine_memory.h"

#include <algorithm>
#include <sstream>

#include "base/error_codes.h"
#include "base/text.h"

namespace stitch {

namespace {

// "MemTotal:  24117248 kB"
int64_t line_of(const std::string& text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return 0;
  int64_t kilobytes = 0;
  std::istringstream(text.substr(at + key.size())) >> kilobytes;
  return kilobytes * 1024;
}

// Of control groups, version 2 and 1; "max" and absurd numbers mean none.
int64_t number_in(const char* file) {
  auto text = read_file(file);
  return text ? parse_integer(trim(*text)).value_or(0) : 0;
}

}  // namespace

MachineMemory machine_memory() {
  MachineMemory out;
  if (auto text = read_file("/proc/meminfo"))
    out = {line_of(*text, "MemTotal:"), line_of(*text, "MemAvailable:")};
  constexpr std::pair<const char*, const char*> groups[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  for (const auto& [limit, used] : groups)
    if (int64_t most = number_in(limit); most > 0 && (out.total == 0 || most < out.total))
      out = {most, std::clamp<int64_t>(most - number_in(used), 0, out.available)};
  return out;
}

Result<void> check_free_space(const fs::path& folder, int64_t least) {
  std::error_code ec;
  fs::path there = fs::absolute(folder, ec).lexically_normal();
  while (!fs::exists(there, ec) && there.has_relative_path()) there = there.parent_path();
  const fs::space_info space = fs::space(there, ec);
  // A file system of size 0 (/proc) holds no files at all, and says so when one is made.
  if (ec || space.capacity == 0 || space.available >= static_cast<uintmax_t>(least)) return {};
  Error error = work_error(
      error_code::disk,
      format("no space left on device: {} free, about {} needed",
             bytes_text(static_cast<double>(space.available)), bytes_text(static_cast<double>(least))),
      "free some disk space, or name another place (TMPDIR moves scratch files)");
  error.blame = Error::Blame::user;
  return at(there.string(), error);
}

}  // namespace stitch
