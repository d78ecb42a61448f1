#ifdef STITCH_HAVE_CUPTI
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "runner/child/cupti_library.h"
#include "runner/child/profiler.h"

namespace stitch::runner {

namespace {

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
using CopyRecord = CUpti_ActivityMemcpy6;
#else
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
#endif
using FillRecord = CUpti_ActivityMemset4;

constexpr size_t buffer_bytes = 8 << 20, buffer_alignment = 8;
constexpr CUpti_ActivityKind device_kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_ActivityKind host_kinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};

struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiGetCallbackName) callback_name = nullptr;
  std::string trouble = cupti_library().trouble;

  Cupti() {
    if (!trouble.empty()) return;
    find_in_cupti(register_callbacks, "cuptiActivityRegisterCallbacks", trouble);
    find_in_cupti(enable, "cuptiActivityEnable", trouble);
    find_in_cupti(disable, "cuptiActivityDisable", trouble);
    find_in_cupti(flush, "cuptiActivityFlushAll", trouble);
    find_in_cupti(next_record, "cuptiActivityGetNextRecord", trouble);
    find_in_cupti(callback_name, "cuptiGetCallbackName", trouble);
  }
};

Cupti& cupti() {
  static Cupti one;
  return one;
}

std::mutex mutex;
std::vector<Activity> activities;

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 ? text : name;
  std::free(text);
  return out;
}

// Fields common to all device records.
template <class Record>
Activity placed(const Record& record, ActivityKind kind, std::string name) {
  Activity out;
  out.kind = kind;
  out.name = std::move(name);
  out.start_ns = static_cast<int64_t>(record.start);
  out.end_ns = static_cast<int64_t>(record.end);
  out.stream = record.streamId;
  out.correlation = record.correlationId;
  out.in_graph = record.graphId != 0;
  return out;
}

Activity read(const KernelRecord& kernel) {
  Activity out = placed(kernel, ActivityKind::kernel, demangled(kernel.name ? kernel.name : "?"));
  const int grid[] = {kernel.gridX, kernel.gridY, kernel.gridZ},
            block[] = {kernel.blockX, kernel.blockY, kernel.blockZ};
  std::copy(grid, grid + 3, out.grid);
  std::copy(block, block + 3, out.block);
  out.registers = kernel.registersPerThread;
  out.shared_bytes = int64_t{kernel.staticSharedMemory} + kernel.dynamicSharedMemory;
  return out;
}

std::string copy_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "copy device to device";
    default: return "copy";
  }
}

Activity read(const CopyRecord& copy) {
  Activity out = placed(copy, ActivityKind::copy, copy_name(copy.copyKind));
  out.bytes = static_cast<int64_t>(copy.bytes);
  return out;
}
Activity read(const FillRecord& fill) {
  Activity out = placed(fill, ActivityKind::fill, "fill");
  out.bytes = static_cast<int64_t>(fill.bytes);
  return out;
}

// Drops the version suffix: cudaLaunchKernel_v7000 is cudaLaunchKernel.
std::string call_name(const CUpti_ActivityAPI& call) {
  const char* found = nullptr;
  const CUpti_CallbackDomain domain =
      call.kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  if (cupti().callback_name(domain, call.cbid, &found) != CUPTI_SUCCESS || !found)
    return format("CUDA call {}", call.cbid);
  std::string name = found;
  if (size_t at = name.rfind("_v");
      at != name.npos && at + 2 < name.size() && name.find_first_not_of("0123456789", at + 2) == name.npos)
    name.resize(at);
  return name;
}

Activity read(const CUpti_ActivityAPI& call) {
  Activity out;
  out.name = call_name(call);
  out.kind =
      out.name.find("GraphLaunch") != out.name.npos ? ActivityKind::graph_launch : ActivityKind::host_call;
  out.start_ns = static_cast<int64_t>(call.start);
  out.end_ns = static_cast<int64_t>(call.end);
  out.stream = call.threadId;
  out.correlation = call.correlationId;
  return out;
}

template <class Record>
void keep(const CUpti_Activity* record) {
  activities.push_back(read(*reinterpret_cast<const Record*>(record)));
}

void give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer ? buffer_bytes : 0;
  *most_records = 0;
}

void take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  std::lock_guard lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cupti().next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: keep<KernelRecord>(record); break;
      case CUPTI_ACTIVITY_KIND_MEMCPY: keep<CopyRecord>(record); break;
      case CUPTI_ACTIVITY_KIND_MEMSET: keep<FillRecord>(record); break;
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_DRIVER: keep<CUpti_ActivityAPI>(record); break;
      default: break;
    }
  }
  std::free(buffer);
}

}  // namespace

Result<void> start_cuda_profile(bool host_calls) {
  if (!cupti().trouble.empty()) return work_error("no_profiler", cupti().trouble);
  activities.clear();
  if (cupti().register_callbacks(give_buffer, take_buffer) != CUPTI_SUCCESS)
    return work_error("no_profiler", "CUPTI does not start");
  for (CUpti_ActivityKind kind : device_kinds)
    if (cupti().enable(kind) != CUPTI_SUCCESS)
      return work_error("no_profiler", "CUPTI may not be used here: another profiler, or no permission");
  // Optional: without them there is still a timeline.
  for (CUpti_ActivityKind kind : host_kinds)
    if (host_calls) cupti().enable(kind);
  return {};
}

Result<std::vector<Activity>> end_cuda_profile() {
  cupti().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  for (CUpti_ActivityKind kind : device_kinds) cupti().disable(kind);
  for (CUpti_ActivityKind kind : host_kinds) cupti().disable(kind);
  std::lock_guard lock(mutex);
  std::sort(activities.begin(), activities.end(),
            [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
  return std::exchange(activities, {});
}

}  // namespace stitch::runner
#else
#include "runner/child/profiler.h"

namespace stitch::runner {

Result<void> start_cuda_profile(bool) {
  return work_error("no_profiler", "StitchCUDA was built without CUPTI's headers");
}
Result<std::vector<Activity>> end_cuda_profile() { return std::vector<Activity>{}; }

}  // namespace stitch::runner
#endif
