#include "runner/resident_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

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
  return status ? field(*status, "RssAnon:") + field(*status, "RssShmem:") : 0;
}

int64_t physical_memory() {
  return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace stitch::runner
