#include "runner/resident_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "base/text.h"

namespace stitch::runner {

namespace {

int64_t field(const std::string& status, const char* name) {
  const size_t at = status.find(name);
  return at == std::string::npos
             ? 0
             : std::strtoll(status.c_str() + at + std::char_traits<char>::length(name), nullptr, 10) * 1024;
}

}  // namespace

int64_t resident_bytes(pid_t pid) {
  auto status = read_file(format("/proc/{}/status", pid));
  if (!status) return 0;
  int64_t sum = field(*status, "RssAnon:") + field(*status, "RssShmem:");
  auto children = read_file(format("/proc/{}/task/{}/children", pid, pid));
  for (const std::string& child : split(children ? *children : "", ' '))
    if (auto number = parse_integer(child)) sum += resident_bytes(static_cast<pid_t>(*number));
  return sum;
}

int64_t physical_memory() {
  return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace stitch::runner
