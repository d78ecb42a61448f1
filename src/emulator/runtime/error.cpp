// CUDA's two kinds of errors: per-thread ones that are read once, and sticky ones that last until device
// reset.
#include "error.h"

#include <atomic>
#include <map>
#include <mutex>
#include <tuple>

#include "scheduler.h"
#include "stitch/host_types.h"

namespace stitch_emulated {

namespace {

struct Entry {
  cudaError_t code;
  const char *name, *text;
};
constexpr Entry entries[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidHostPointer, "cudaErrorInvalidHostPointer", "invalid host pointer"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints specific to "
     "instantiated graph update"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

thread_local cudaError_t last = cudaSuccess;
std::atomic<int> sticky{cudaSuccess};
std::mutex report_mutex;
std::string report;

const Entry* find(cudaError_t code) {
  for (const Entry& entry : entries)
    if (entry.code == code) return &entry;
  return nullptr;
}

}  // namespace

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last = error;
  return error;
}

cudaError_t sticky_error() { return static_cast<cudaError_t>(sticky.load()); }

void break_device(cudaError_t error) {
  int none = cudaSuccess;
  sticky.compare_exchange_strong(none, error);
}

void mend_device() {
  sticky = cudaSuccess;
  last = cudaSuccess;
  set_report("");
}

void set_report(std::string text) {
  std::lock_guard lock(report_mutex);
  report = std::move(text);
}

// Reports on failed kernels: which threads wait where, which one trapped.

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

using namespace stitch_emulated;

cudaError_t cudaGetLastError() {
  if (cudaError_t error = sticky_error()) return error;
  cudaError_t error = last;
  last = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() {
  if (cudaError_t error = sticky_error()) return error;
  return last;
}
const char* cudaGetErrorName(cudaError_t error) {
  const Entry* entry = find(error);
  return entry ? entry->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const Entry* entry = find(error);
  return entry ? entry->text : "unrecognized error code";
}

extern "C" const char* stitch_emulated_last_report() {
  static thread_local std::string copy;
  std::lock_guard lock(report_mutex);
  copy = report;
  return copy.c_str();
}
