#include "access_counters.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "launch_log.h"
#include "launch_state.h"
#include "memory.h"
#include "stitch/core.h"

namespace stitch_emulated {

namespace {

constexpr uint64_t blocks_counted = 64;
constexpr size_t most_requests = 50'000;  // per block; later ones are only counted

enum class Kind : uint8_t { load, store, shared_load, shared_store, atomic };
constexpr int kinds = 5;

// One instruction of a warp.
struct Request {
  Kind kind{};
  uint8_t bytes = 0;   // of a lane's access
  uint32_t lanes = 0;  // that made it
  uintptr_t addresses[32];
};

struct Sums {
  double requests[kinds] = {};
  double examined[kinds] = {};      // requests with known addresses
  double sectors[kinds] = {};       // of global memory
  double extra_passes[kinds] = {};  // of shared memory
  double lanes = 0;
  double barriers = 0;
  uint64_t blocks = 0;

  void add(const Sums& other) {
    for (int k = 0; k < kinds; ++k) {
      requests[k] += other.requests[k];
      examined[k] += other.examined[k];
      sectors[k] += other.sectors[k];
      extra_passes[k] += other.extra_passes[k];
    }
    lanes += other.lanes;
    barriers += other.barriers;
    blocks += other.blocks;
  }
};

struct Place {
  uintptr_t begin = 0, end = 0;
  bool holds(uintptr_t address) const { return address >= begin && address < end; }
};

// Distinct 32-byte sectors accessed by the lanes.
int sectors_of(const Request& request) {
  uintptr_t seen[64];
  int count = 0;
  for (uint32_t rest = request.lanes; rest; rest &= rest - 1) {
    const uintptr_t address = request.addresses[std::countr_zero(rest)];
    for (uintptr_t sector = address / 32; sector <= (address + request.bytes - 1) / 32; ++sector)
      if (std::find(seen, seen + count, sector) == seen + count && count < 64) seen[count++] = sector;
  }
  return count;
}

// Passes over the 32 banks beyond those that the width needs; 16-byte accesses go by quarter-warps.
int extra_passes_of(const Request& request) {
  const int words = std::max(1, request.bytes / 4), together = 32 / std::min(words, 32);
  int extra = 0;
  for (int first = 0; first < 32; first += together) {
    uintptr_t seen[32 * 4];
    int in_bank[32] = {}, count = 0;
    for (int lane = first; lane < first + together; ++lane) {
      if (!(request.lanes >> lane & 1)) continue;
      for (int word = 0; word < words && count < 128; ++word) {
        const uintptr_t at = request.addresses[lane] / 4 + static_cast<uintptr_t>(word);
        if (std::find(seen, seen + count, at) != seen + count) continue;
        seen[count++] = at;
        ++in_bank[at % 32];
      }
    }
    const int passes = *std::max_element(in_bank, in_bank + 32);
    extra += std::max(0, passes - 1);
  }
  return extra;
}

class BlockCounters {
 public:
  void access(uintptr_t address, size_t bytes, bool store, bool atomic, const void* instruction) {
    bool shared = false;
    if (!classify(address, shared)) return;
    const Kind kind = atomic   ? Kind::atomic
                      : shared ? (store ? Kind::shared_store : Kind::shared_load)
                               : (store ? Kind::store : Kind::load);
    const unsigned rank = current->rank, lane = rank & 31;
    const uint64_t where = reinterpret_cast<uintptr_t>(instruction);
    const uint32_t turn = turns_[where * 1024 + rank]++;
    auto key = Key{where, rank / 32, turn};
    auto found = requests_.find(key);
    if (found == requests_.end()) {
      if (requests_.size() >= most_requests) {
        overflow_[static_cast<int>(kind)] += 1.0 / 32;
        return;
      }
      found = requests_.emplace(key, Request{}).first;
      found->second.kind = kind;
      found->second.bytes = static_cast<uint8_t>(std::min<size_t>(bytes, 16));
    }
    found->second.lanes |= 1u << lane;
    found->second.addresses[lane] = address;
  }

  void note_shared(const void* address, size_t bytes) {
    const auto begin = reinterpret_cast<uintptr_t>(address);
    shared_.push_back({begin, begin + bytes});
  }

  Sums sums() const {
    Sums out;
    out.blocks = 1;
    out.barriers = barriers;
    for (const auto& [key, request] : requests_) {
      const int k = static_cast<int>(request.kind);
      ++out.requests[k];
      ++out.examined[k];
      out.lanes += std::popcount(request.lanes);
      if (request.kind == Kind::load || request.kind == Kind::store) out.sectors[k] += sectors_of(request);
      if (request.kind == Kind::shared_load || request.kind == Kind::shared_store)
        out.extra_passes[k] += extra_passes_of(request);
    }
    for (int k = 0; k < kinds; ++k) out.requests[k] += overflow_[k];
    return out;
  }

  double barriers = 0;

 private:
  struct Key {
    uint64_t where;
    uint32_t warp, turn;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return (key.where * 0x9E3779B97F4A7C15ull) ^ (uint64_t{key.warp} << 40) ^
             (key.turn * 0xC2B2AE3D27D4EB4Full);
    }
  };

  // False for memory that is neither global nor shared: stacks, threadIdx, host constants.
  bool classify(uintptr_t address, bool& shared) {
    const BlockView& block = *current->block;
    const auto dynamic = reinterpret_cast<uintptr_t>(block.dynamic_shared);
    shared =
        Place{dynamic, dynamic + block.dynamic_shared_bytes}.holds(address) ||
        std::any_of(shared_.begin(), shared_.end(), [&](const Place& one) { return one.holds(address); });
    if (shared || global_.holds(address)) return true;
    if (other_.holds(address)) return false;
    const Range range = find_range(reinterpret_cast<const void*>(address));
    const auto begin = reinterpret_cast<uintptr_t>(range.start);
    if (range.type == cudaMemoryTypeUnregistered) {
      other_ = {address & ~uintptr_t{63}, (address & ~uintptr_t{63}) + 64};
      return false;
    }
    global_ = {begin, begin + range.bytes};
    return true;
  }

  std::unordered_map<Key, Request, Hash> requests_;
  std::unordered_map<uint64_t, uint32_t> turns_;  // executions of an instruction by a thread
  double overflow_[kinds] = {};
  std::vector<Place> shared_;
  Place global_, other_;  // most recent lookups
};

std::mutex mutex;
Sums total;
uint64_t total_blocks = 0;  // of the grid

__thread BlockCounters* counted = nullptr;  // the block of this OS thread
thread_local std::unique_ptr<BlockCounters> owned;

inline void access(const volatile void* address, size_t bytes, bool store, bool atomic,
                   const void* instruction) {
  if (!counted || !current) return;
  BlockCounters* counters = counted;
  counted = nullptr;  // the emulator's own accesses don't count
  counters->access(reinterpret_cast<uintptr_t>(address), bytes, store, atomic, instruction);
  counted = counters;
}

}  // namespace

void begin_counting(const LaunchState& launch, uint64_t block) {
  counted = nullptr;
  if (!is_logging()) return;
  const uint64_t step = std::max<uint64_t>(1, launch.blocks / blocks_counted);
  if (block % step) return;
  {
    std::lock_guard lock(mutex);
    total_blocks = launch.blocks;
  }
  owned = std::make_unique<BlockCounters>();
  counted = owned.get();
}

void end_counting() {
  if (!owned) return;
  counted = nullptr;
  const Sums sums = owned->sums();
  owned.reset();
  std::lock_guard lock(mutex);
  total.add(sums);
}

void count_barrier() {
  if (counted) ++counted->barriers;
}

void note_shared(const void* address, size_t bytes) {
  if (counted) counted->note_shared(address, bytes);
}

NotCounted::NotCounted() : paused_(counted) { counted = nullptr; }
NotCounted::~NotCounted() { counted = static_cast<BlockCounters*>(paused_); }

std::string take_counters() {
  std::lock_guard lock(mutex);
  const Sums sums = std::exchange(total, {});
  double requests = 0, examined = 0;
  for (int k = 0; k < kinds; ++k) requests += sums.requests[k], examined += sums.examined[k];
  if (!sums.blocks || requests == 0) return "";  // not instrumented, or arithmetic only
  const double scale = static_cast<double>(total_blocks) / static_cast<double>(sums.blocks);
  std::string out;
  auto add = [&](const char* name, double value) {
    char text[96];
    std::snprintf(text, sizeof text, "%s\"%s\":%.6g", out.empty() ? "" : ",", name, value);
    out += text;
  };
  auto each = [&](const char* name, Kind kind, const double(&sum)[kinds]) {
    const int k = static_cast<int>(kind);
    if (sums.examined[k] > 0) add(name, sum[k] / sums.examined[k]);
  };
  add("loads", scale * sums.requests[static_cast<int>(Kind::load)]);
  add("stores", scale * sums.requests[static_cast<int>(Kind::store)]);
  add("shared_loads", scale * sums.requests[static_cast<int>(Kind::shared_load)]);
  add("shared_stores", scale * sums.requests[static_cast<int>(Kind::shared_store)]);
  add("atomics", scale * sums.requests[static_cast<int>(Kind::atomic)]);
  add("barriers", scale * sums.barriers);
  each("global_load_sectors", Kind::load, sums.sectors);
  each("global_store_sectors", Kind::store, sums.sectors);
  each("shared_load_conflicts", Kind::shared_load, sums.extra_passes);
  each("shared_store_conflicts", Kind::shared_store, sums.extra_passes);
  if (examined > 0) add("lanes_active", sums.lanes / examined);
  return "{" + out + "}";
}

}  // namespace stitch_emulated

// The hooks that -fsanitize=thread calls.
using stitch_emulated::access;

#define HOOK(name, bytes, store)                                       \
  extern "C" void __tsan_##name(void* address) {                       \
    access(address, bytes, store, false, __builtin_return_address(0)); \
  }
#define HOOKS(bytes)                        \
  HOOK(read##bytes, bytes, false)           \
  HOOK(write##bytes, bytes, true)           \
  HOOK(unaligned_read##bytes, bytes, false) \
  HOOK(unaligned_write##bytes, bytes, true) \
  HOOK(volatile_read##bytes, bytes, false)  \
  HOOK(volatile_write##bytes, bytes, true)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

extern "C" void __tsan_read_range(void* address, size_t bytes) {
  access(address, bytes, false, false, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void* address, size_t bytes) {
  access(address, bytes, true, false, __builtin_return_address(0));
}
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_vptr_read(void**) {}

// Atomics become calls: execute and count them.
#define COUNTED access(address, sizeof *address, true, true, __builtin_return_address(0))
#define FETCH(bits, type, operation)                                                                 \
  extern "C" type __tsan_atomic##bits##_fetch_##operation(volatile type* address, type value, int) { \
    COUNTED;                                                                                         \
    return __atomic_fetch_##operation(address, value, __ATOMIC_SEQ_CST);                             \
  }
#define ATOMICS(bits, type)                                                                                  \
  extern "C" type __tsan_atomic##bits##_load(const volatile type* address, int) {                            \
    access(address, sizeof *address, false, false, __builtin_return_address(0));                             \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                          \
  extern "C" void __tsan_atomic##bits##_store(volatile type* address, type value, int) {                     \
    access(address, sizeof *address, true, false, __builtin_return_address(0));                              \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                          \
  extern "C" type __tsan_atomic##bits##_exchange(volatile type* address, type value, int) {                  \
    COUNTED;                                                                                                 \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                          \
  extern "C" bool __tsan_atomic##bits##_compare_exchange_strong(volatile type* address, type* expected,      \
                                                                type value, int, int) {                      \
    COUNTED;                                                                                                 \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                          \
  extern "C" bool __tsan_atomic##bits##_compare_exchange_weak(volatile type* address, type* expected,        \
                                                              type value, int, int) {                        \
    COUNTED;                                                                                                 \
    return __atomic_compare_exchange_n(address, expected, value, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
  }                                                                                                          \
  extern "C" type __tsan_atomic##bits##_compare_exchange_val(volatile type* address, type expected,          \
                                                             type value, int, int) {                         \
    COUNTED;                                                                                                 \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
    return expected;                                                                                         \
  }                                                                                                          \
  FETCH(bits, type, add)                                                                                     \
  FETCH(bits, type, sub)                                                                                     \
  FETCH(bits, type, and)                                                                                     \
  FETCH(bits, type, or)                                                                                      \
  FETCH(bits, type, xor)                                                                                     \
  FETCH(bits, type, nand)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
extern "C" void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
extern "C" void __tsan_atomic_signal_fence(int) {}
