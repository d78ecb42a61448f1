#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "error.h"
#include "fiber.h"
#include "operation.h"
#include "settings.h"
#include "stream.h"

namespace stitch_emulated {

namespace {

constexpr size_t front_guard = 256, back_guard = 256;
// NaNs as floats, halves and doubles, so that reads outside are noticed. Two different bytes, which no poison
// has, so that copying fresh memory over a guard is noticed.
constexpr unsigned char guard_bytes[2] = {0xFE, 0x7F};

struct Allocation {
  void* memory;  // what malloc gave
  size_t bytes, index;
  cudaMemoryType type;
  bool guarded;
  bool owned;             // freed by us; symbols and registered memory aren't
  size_t mapped = 0;      // bytes of pages including a fence; 0: from malloc
  void* pages = nullptr;  // of these, the accessible ones
};

std::mutex mutex;
std::map<uintptr_t, Allocation> allocations;
size_t in_use = 0, made = 0;
bool closed_to_host = false;
int at_work = 0;  // kernels, copies and calls of libraries

void paint(unsigned char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) from[i] = guard_bytes[reinterpret_cast<uintptr_t>(from + i) & 1];
}

// The offset of the first byte that differs from the guard pattern, or -1.
long first_damage(const unsigned char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (from[i] != guard_bytes[reinterpret_cast<uintptr_t>(from + i) & 1]) return static_cast<long>(i);
  return -1;
}

cudaError_t allocate(void** pointer, size_t bytes, cudaMemoryType type) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  std::lock_guard lock(mutex);
  if (type != cudaMemoryTypeHost &&
      (bytes > settings().memory_bytes || in_use > settings().memory_bytes - bytes))
    return cudaErrorMemoryAllocation;
  // AddressSanitizer's guards also detect reads.
  const bool guarded = !has_address_sanitizer;
  const size_t total = guarded ? front_guard + bytes + back_guard : bytes;
  if (total < bytes) return cudaErrorMemoryAllocation;
  void* memory = std::aligned_alloc(256, (total + 255) / 256 * 256);
  if (!guarded && memory) {  // aligned_alloc's rounding would hide the first bytes after the end
    std::free(memory);
    if (posix_memalign(&memory, 256, total)) memory = nullptr;
  }
  if (!memory) return cudaErrorMemoryAllocation;
  auto* user = static_cast<unsigned char*>(memory) + (guarded ? front_guard : 0);
  std::memset(user, settings().poison, bytes);
  if (guarded) {
    paint(user - front_guard, front_guard);
    paint(user + bytes, back_guard);
  }
  allocations[reinterpret_cast<uintptr_t>(user)] = {memory, bytes, ++made, type, guarded, true};
  if (type != cudaMemoryTypeHost) in_use += bytes;
  *pointer = user;
  return cudaSuccess;
}

void protect_fenced(int protection) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  for (const auto& [address, allocation] : allocations)
    if (allocation.pages) ::mprotect(allocation.pages, allocation.mapped - page, protection);
}

void give_back(const Allocation& allocation) {
  if (allocation.mapped)
    ::munmap(allocation.memory, allocation.mapped);
  else
    std::free(allocation.memory);
}

std::string damage(uintptr_t address, const Allocation& allocation) {
  if (!allocation.guarded) return "";
  auto* user = reinterpret_cast<const unsigned char*>(address);
  const std::string which = "allocation " + std::to_string(allocation.index) + " (" +
                            std::to_string(allocation.bytes) + " bytes): ";
  if (long at = first_damage(user + allocation.bytes, back_guard); at >= 0)
    return which + "written " + std::to_string(at) + " bytes behind its end (offset " +
           std::to_string(allocation.bytes + static_cast<size_t>(at)) + ")";
  if (long at = first_damage(user - front_guard, front_guard); at >= 0)
    return which + "written " + std::to_string(static_cast<long>(front_guard) - at) +
           " bytes before its start (offset -" + std::to_string(static_cast<long>(front_guard) - at) + ")";
  return "";
}

cudaError_t release(void* pointer, bool host) {
  if (!pointer) return cudaSuccess;
  std::string found;
  {
    std::lock_guard lock(mutex);
    auto at = allocations.find(reinterpret_cast<uintptr_t>(pointer));
    if (at == allocations.end() || !at->second.owned || (at->second.type == cudaMemoryTypeHost) != host)
      return cudaErrorInvalidValue;
    found = damage(at->first, at->second);
    if (!host) in_use -= at->second.bytes;
    give_back(at->second);
    allocations.erase(at);
  }
  if (found.empty()) return cudaSuccess;
  set_report(found);
  break_device(cudaErrorIllegalAddress);
  return cudaErrorIllegalAddress;
}

cudaError_t add_range(void* pointer, size_t bytes, cudaMemoryType type) {
  if (!pointer || !bytes) return cudaErrorInvalidValue;
  std::lock_guard lock(mutex);
  auto [at, fresh] = allocations.try_emplace(reinterpret_cast<uintptr_t>(pointer),
                                             Allocation{nullptr, bytes, 0, type, false, false});
  return fresh || type == cudaMemoryTypeDevice ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

}  // namespace

Range find_range(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  Range unknown;
  if (settings().host_memory_too && pointer)
    unknown = {const_cast<void*>(pointer), SIZE_MAX / 2, cudaMemoryTypeDevice};
  std::lock_guard lock(mutex);
  auto at = allocations.upper_bound(address);
  if (at == allocations.begin()) return unknown;
  --at;
  if (address - at->first >= at->second.bytes) return unknown;
  return {reinterpret_cast<void*>(at->first), at->second.bytes, at->second.type, at->second.mapped > 0};
}

bool is_only_hosts(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  {
    std::lock_guard lock(mutex);
    // Pointers behind an end, or before a start, are legal while nothing is read there.
    auto at = allocations.upper_bound(address + front_guard);
    if (at != allocations.begin() && address <= (--at)->first + at->second.bytes + back_guard) return false;
  }
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  unsigned char resident;
  return address >= page && ::mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0;
}

DeviceAtWork::DeviceAtWork() {
  std::lock_guard lock(mutex);
  if (at_work++ == 0 && closed_to_host) protect_fenced(PROT_READ | PROT_WRITE);
}
DeviceAtWork::~DeviceAtWork() {
  std::lock_guard lock(mutex);
  if (--at_work == 0 && closed_to_host) protect_fenced(PROT_NONE);
}

std::string check_guards() {
  std::lock_guard lock(mutex);
  std::string out;
  for (const auto& [address, allocation] : allocations) {
    std::string found = damage(address, allocation);
    if (!found.empty()) out += (out.empty() ? "" : "\n") + found;
  }
  return out;
}

cudaError_t check_guards_at_sync() {
  std::string found = check_guards();
  if (found.empty()) return cudaSuccess;
  set_report(found);
  break_device(cudaErrorIllegalAddress);
  return cudaErrorIllegalAddress;
}

void free_everything() {
  std::lock_guard lock(mutex);
  for (auto& [address, allocation] : allocations)
    if (allocation.owned) give_back(allocation);
  allocations.clear();
  in_use = 0;
}

size_t free_memory() {
  std::lock_guard lock(mutex);
  return settings().memory_bytes > in_use ? settings().memory_bytes - in_use : 0;
}

cudaError_t symbol_address(void** pointer, void* symbol, size_t bytes) {
  STITCH_API();
  *pointer = symbol;
  return remember(add_range(symbol, bytes, cudaMemoryTypeDevice));
}

}  // namespace stitch_emulated

using namespace stitch_emulated;

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  STITCH_API();
  if (cudaError_t error = check_not_captured(nullptr)) return remember(error);
  return remember(allocate(pointer, bytes, cudaMemoryTypeDevice));
}
cudaError_t cudaFree(void* pointer) {
  STITCH_API();
  if (cudaError_t error = check_not_captured(nullptr)) return remember(error);
  return remember(release(pointer, false));
}
// In a capture these would be graph nodes, which aren't emulated.
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  STITCH_API();
  if (is_capturing(stream)) return remember(cudaErrorStreamCaptureUnsupported);
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  STITCH_API();
  if (is_capturing(stream)) return remember(cudaErrorStreamCaptureUnsupported);
  return cudaFree(pointer);
}
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  STITCH_API();
  return remember(allocate(pointer, bytes, cudaMemoryTypeManaged));
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  STITCH_API();
  return remember(allocate(pointer, bytes, cudaMemoryTypeHost));
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned flags) {
  return cudaHostAlloc(pointer, bytes, flags);
}
cudaError_t cudaFreeHost(void* pointer) {
  STITCH_API();
  return remember(release(pointer, true));
}
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  STITCH_API();
  return remember(add_range(pointer, bytes, cudaMemoryTypeHost));
}
cudaError_t cudaHostUnregister(void* pointer) {
  STITCH_API();
  std::lock_guard lock(mutex);
  auto at = allocations.find(reinterpret_cast<uintptr_t>(pointer));
  if (at == allocations.end() || at->second.owned) return remember(cudaErrorHostMemoryNotRegistered);
  allocations.erase(at);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  STITCH_API();
  *device = host;
  return find_range(host).start ? cudaSuccess : remember(cudaErrorInvalidValue);
}
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) { return sticky_error(); }
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  STITCH_API();
  *free_bytes = free_memory();
  *total_bytes = settings().memory_bytes;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  STITCH_API();
  Range range = find_range(pointer);
  *attributes = {range.type, 0, nullptr, nullptr, {}};
  if (range.start) attributes->devicePointer = const_cast<void*>(pointer);
  if (range.type == cudaMemoryTypeHost || range.type == cudaMemoryTypeManaged)
    attributes->hostPointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

extern "C" void* stitch_emulated_malloc_fenced(size_t bytes, size_t alignment, int before) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  if (!bytes || !alignment || alignment > page || bytes > settings().memory_bytes) return nullptr;
  const size_t inside = (bytes + alignment - 1) / alignment * alignment,
               pages = (inside + page - 1) / page * page;
  const size_t total = pages + page;
  void* memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* first = static_cast<unsigned char*>(memory);
  unsigned char* fence = before ? first : first + pages;
  unsigned char* user = before ? first + page : first + pages - inside;
  std::memset(before ? first + page : first, settings().poison, pages);
  if (::mprotect(fence, page, PROT_NONE) != 0) {
    ::munmap(memory, total);
    return nullptr;
  }
  std::lock_guard lock(mutex);
  allocations[reinterpret_cast<uintptr_t>(user)] = {memory, bytes, ++made, cudaMemoryTypeDevice,
                                                    false,  true,  total,  before ? first + page : first};
  in_use += bytes;
  return user;
}
extern "C" void stitch_emulated_close_to_host(int yes) {
  std::lock_guard lock(mutex);
  closed_to_host = yes != 0;
  if (at_work == 0) protect_fenced(closed_to_host ? PROT_NONE : PROT_READ | PROT_WRITE);
}
extern "C" const char* stitch_emulated_check_memory() {
  static thread_local std::string text;
  text = check_guards();
  if (!text.empty()) set_report(text);
  return text.c_str();
}
extern "C" int stitch_emulated_check_guards() {
  std::lock_guard lock(mutex);
  int damaged = 0;
  for (const auto& [address, allocation] : allocations) damaged += !damage(address, allocation).empty();
  return damaged;
}
extern "C" size_t stitch_emulated_memory_in_use() {
  // What streams, events and pinned memory take on a device is the driver's matter: something each, so that
  // those that are never destroyed show.
  constexpr size_t of_a_handle = 64;
  const size_t handles = count_handles();
  std::lock_guard lock(mutex);
  size_t pinned = 0;
  for (const auto& [address, allocation] : allocations)
    pinned += allocation.owned && allocation.type == cudaMemoryTypeHost;
  return in_use + of_a_handle * (handles + pinned);
}
extern "C" size_t stitch_emulated_allocation_count() {
  std::lock_guard lock(mutex);
  size_t count = 0;
  for (const auto& [address, allocation] : allocations) count += allocation.owned;
  return count;
}
