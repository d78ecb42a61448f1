#include "library/call.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "error.h"
#include "launch_log.h"
#include "memory.h"
#include "scheduler.h"
#include "settings.h"

namespace stitch_emulated {

namespace {

std::string describe(const LibraryOperation& call, const Operand& operand) {
  const Range range = find_range(operand.start);
  std::string text =
      call.name + ": operand " + operand.name + " needs " + std::to_string(operand.bytes) + " bytes, but ";
  if (!operand.start) return text + "its address is null";
  if (!range.start) return text + "its address is not in device memory";
  const auto left = range.bytes - static_cast<size_t>(static_cast<const char*>(operand.start) -
                                                      static_cast<const char*>(range.start));
  return text + "its allocation (" + std::to_string(range.bytes) + " bytes) ends after " +
         std::to_string(left);
}

bool lies_in_one_allocation(const Operand& operand) {
  const Range range = find_range(operand.start);
  if (!range.start) return false;
  const auto offset =
      static_cast<size_t>(static_cast<const char*>(operand.start) - static_cast<const char*>(range.start));
  return operand.bytes <= range.bytes - offset;
}

}  // namespace

cudaError_t run_library(const LibraryOperation& call) {
  STITCH_API();
  for (const Operand& operand : call.operands) {
    if (!operand.bytes || lies_in_one_allocation(operand)) continue;
    set_report(describe(call, operand));
    break_device(cudaErrorIllegalAddress);
    return cudaSuccess;  // as with a kernel, the next call returns the failure
  }
  log_library(call.name);
  const DeviceAtWork open;
  call.work();
  return cudaSuccess;
}

cudaError_t submit_call(cudaStream_t stream, LibraryOperation call) {
  STITCH_API();
  return remember(enqueue(stream, std::move(call)));
}

void for_each_part(size_t count, const std::function<void(size_t)>& body) {
  if (!count) return;
  std::atomic<size_t> next{0};
  const size_t helpers = std::min<size_t>(settings().workers - 1, count - 1);
  run_on_pool(static_cast<unsigned>(helpers), [&] {
    for (size_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(part);
  });
}

void spoil(void* workspace, size_t bytes) {
  // Both ends suffice: writing megabytes would cost more than the call.
  const size_t edge = std::min<size_t>(bytes, 4096);
  std::memset(workspace, 0xFF, edge);
  std::memset(static_cast<char*>(workspace) + bytes - edge, 0xFF, edge);
}

}  // namespace stitch_emulated
