// Reports on failed kernels: which threads wait where, which one trapped.
#include <map>
#include <tuple>

#include "scheduler.h"
#include "stitch/host_types.h"

namespace stitch_emulated {

namespace {

std::string triple(uint3 v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

// 0-31, 33, 40-47
std::string ranges(const std::vector<uint32_t>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    if (out.size() > 120) return out + "…";
    out += std::to_string(ranks[i]);
    if (last > i) out += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return out;
}

std::string hexadecimal(uint32_t value) {
  char text[16];
  snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

}  // namespace

std::string Worker::place(const Thread& thread) const {
  return std::string("kernel ") + launch_->kernel->name + ", block " + triple(view_.index) + ", thread " +
         triple(thread.index);
}

std::string Worker::stuck_report() const {
  using Key = std::tuple<bool, std::string, unsigned, uint32_t>;  // ended, what, line, mask
  std::map<Key, std::vector<uint32_t>> groups;
  for (const Thread& thread : threads_) {
    std::string what = thread.done ? "" : thread.what;
    if (thread.wait == Wait::named_barrier && !thread.done) what += " " + std::to_string(thread.barrier);
    const bool masked = !thread.done && thread.wait == Wait::warp;
    groups[{thread.done, what, thread.done ? 0 : thread.line, masked ? thread.mask : 0}].push_back(
        thread.rank);
  }
  // The groups in the order of their first threads, ended ones last.
  std::map<std::pair<bool, uint32_t>, std::string> lines;
  for (const auto& [key, ranks] : groups) {
    const auto& [ended, what, line, mask] = key;
    const bool one = ranks.size() == 1;
    std::string text = (one ? "thread " : "threads ") + ranges(ranks);
    if (ended) {
      text += one ? " has ended" : " have ended";
    } else {
      text += (one ? " waits at " : " wait at ") + what + " (line " + std::to_string(line);
      if (mask) text += ", mask " + hexadecimal(mask);
      text += ")";
    }
    lines[{ended, ranks.front()}] = text;
  }
  std::string out = std::string("kernel ") + launch_->kernel->name + ", block " + triple(view_.index) +
                    ": its threads wait for each other at different places: ";
  bool first = true;
  for (const auto& [order, text] : lines) {
    if (!first) out += "; ";
    out += text;
    first = false;
  }
  return out;
}

void LaunchState::fail_ended_blocks() {
  fail(cudaErrorLaunchFailure, std::string("kernel ") + kernel->name + ": " + std::to_string(grid_finished) +
                                   " of " + std::to_string(blocks) +
                                   " blocks ended while the others wait at grid.sync (line " +
                                   std::to_string(grid_line) + ")");
}

void trap(const char* what, unsigned line) {
  if (!current) {
    std::fprintf(stderr, "%s called on the host (line %u)\n", what, line);
    std::abort();
  }
  Worker& worker = this_worker();
  worker.fail(cudaErrorLaunchFailure, worker.place(*static_cast<Thread*>(current)) + ": " + what + " (line " +
                                          std::to_string(line) + ")");
}

void assertion_failed(const char* condition, const char* file, unsigned line, const char* function) {
  if (!current) {
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
    std::abort();
  }
  Worker& worker = this_worker();
  std::string text = worker.place(*static_cast<Thread*>(current)) + ": assertion `" + condition +
                     "` failed (" + file + ":" + std::to_string(line) + ")";
  std::fprintf(stderr, "%s\n", text.c_str());
  worker.fail(cudaErrorAssert, std::move(text));  // never returns, so it may own nothing
}

}  // namespace stitch_emulated
