#include "runner/process_usage.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "base/text.h"

namespace stitch::runner {

namespace {

int64_t field(const std::string& status, const char* name) {
  const size_t at = status.find(name);
  return at == std::string::npos
             ? 0
             : std::strtoll(status.c_str() + at + std::char_traits<char>::length(name), nullptr, 10);
}

// Children of all threads.
void each_process(pid_t pid, bool all_threads, const std::function<void(pid_t)>& visit) {
  visit(pid);
  std::vector<fs::path> threads = {format("/proc/{}/task/{}", pid, pid)};
  std::error_code ignored;
  if (all_threads) {
    threads.clear();
    for (const auto& thread : fs::directory_iterator(format("/proc/{}/task", pid), ignored))
      threads.push_back(thread.path());
  }
  for (const fs::path& thread : threads) {
    auto children = read_file(thread / "children");
    for (const std::string& child : split(children ? *children : "", ' '))
      if (auto number = parse_integer(child)) each_process(static_cast<pid_t>(*number), all_threads, visit);
  }
}

constexpr int64_t block = 512;  // of st_blocks

int64_t unnamed_bytes(pid_t pid, dev_t device) {
  int64_t sum = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(format("/proc/{}/fd", pid), ignored)) {
    struct stat facts {};
    if (::stat(entry.path().c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 0 &&
        facts.st_dev == device)
      sum += facts.st_blocks * block;
  }
  return sum;
}

}  // namespace

Usage usage_of(pid_t pid, bool thorough) {
  Usage out;
  each_process(pid, thorough, [&](pid_t each) {
    auto status = read_file(format("/proc/{}/status", each));
    if (!status) return;
    out.memory += (field(*status, "RssAnon:") + field(*status, "RssShmem:")) * 1024;
    out.threads += static_cast<int>(field(*status, "Threads:"));
    ++out.processes;
  });
  return out;
}

int64_t cpu_time_of(pid_t pid) {
  int64_t nanoseconds = 0;
  each_process(pid, true, [&](pid_t each) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(each, &clock) == 0 && ::clock_gettime(clock, &time) == 0)
      nanoseconds += int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  });
  return nanoseconds;
}

double waited_for_cores(pid_t pid) {
  int64_t nanoseconds = 0;
  each_process(pid, true, [&](pid_t each) {
    std::error_code ignored;
    for (const auto& thread : fs::directory_iterator(format("/proc/{}/task", each), ignored)) {
      // schedstat: "time on a core, time waiting for one, times scheduled", e.g. "822141847 1237267692 209".
      auto counts = read_file(thread.path() / "schedstat");
      const std::vector<std::string> words = split(counts ? *counts : "", ' ');
      if (words.size() > 1) nanoseconds += parse_integer(words[1]).value_or(0);
    }
  });
  return static_cast<double>(nanoseconds) / 1e9;
}

int64_t disk_bytes(const fs::path& folder, pid_t pid) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0) return 0;
  int64_t sum = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, ignored),
       end;
       !ignored && at != end; at.increment(ignored)) {
    struct stat file {};
    if (::lstat(at->path().c_str(), &file) == 0) sum += file.st_blocks * block;
  }
  each_process(pid, true, [&](pid_t each) { sum += unnamed_bytes(each, facts.st_dev); });
  return sum;
}

int64_t physical_memory() {
  return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace stitch::runner
