// Device code's interface to the scheduler (runtime/scheduler.cpp): thread identity, and waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "stitch/vector_types.h"

namespace stitch_emulated {

// The part of a block and thread that programs read directly.
struct BlockView {
  uint3 index;
  dim3 size, grid;
  void* dynamic_shared;
  unsigned dynamic_shared_bytes;
  void* worker;                  // the scheduler's
  unsigned epoch;                // counts the blocks of this OS thread, from 1
  unsigned static_shared_bytes;  // of static shared variables filled so far
  int poison;                    // fill byte of fresh memory
};
struct ThreadView {
  uint3 index;
  unsigned rank;  // x + size.x * (y + size.y * z)
  BlockView* block;
};

// The CUDA thread running on this OS thread; null on the host. __thread, not thread_local: no initialisation
// guard.
extern __thread ThreadView* current;

// Warp collectives. The last lane to arrive computes every lane's result.
enum class Collective : unsigned char {
  sync,
  shuffle,
  ballot,
  any,
  all,
  uni,
  add,
  min,
  max,
  smin,
  smax,
  bit_and,
  bit_or,
  bit_xor,
  match_any,
  match_all
};

// Exchanges `value` (and for shuffles the source lane) among the lanes in `mask`.
uint64_t exchange(Collective kind, unsigned mask, uint64_t value, unsigned source, const char* what,
                  unsigned line);
// The same for any type: `finish` runs once, with each lane's `mine` (null for lanes outside the mask).
void exchange_with(unsigned mask, void* mine, void (*finish)(void* const lanes[32], unsigned mask),
                   const char* what, unsigned line);
// mma.sync and ldmatrix (stitch/runtime/mma.h says which lane holds what): a warp's 16 x 8 sums, 32 bytes
// deep.
enum class Operands : unsigned char { half, bfloat, tf32 };
void multiply_operands(Operands type, float* sums, const uint32_t* left, const uint32_t* right,
                       unsigned line);
// The rows of which a lane reads one part each.
void matrix_rows(const uint32_t* (&rows)[4], const void* row, unsigned line);
// The lanes that reach this line together.
unsigned active_mask(const char* what, unsigned line);

enum class Vote : unsigned char { none, count, all, any };
int block_barrier(Vote vote, int predicate, const char* what, unsigned line);
void named_barrier_sync(unsigned id, unsigned threads, unsigned line);
void named_barrier_arrive(unsigned id, unsigned threads, unsigned line);
void grid_barrier(unsigned line);
bool grid_is_cooperative();
unsigned block_of_cluster();
void cluster_barrier(unsigned line);
// Waits until `ready(context)`; other threads of the block run meanwhile.
void wait_until(bool (*ready)(void*), void* context, const char* what, unsigned line);
// Runs other threads of the block; for loops that spin on memory.
void yield_thread();
[[noreturn]] void trap(const char* what, unsigned line);
[[noreturn]] void assertion_failed(const char* condition, const char* file, unsigned line,
                                   const char* function);

inline unsigned lane() { return current->rank & 31; }
inline void* dynamic_shared() { return current->block->dynamic_shared; }

// Spinning code must let others run: every 1024th atomic operation yields.
extern __thread unsigned spins;
inline void count_spin() {
  if ((++spins & 1023) == 0) [[unlikely]]
    yield_thread();
}

// Reports static shared memory to the access counters (runtime/access_counters.h).
void note_shared(const void* address, size_t bytes);

// Fills shared memory with NaNs at the start of each block: data left by the previous block would hide a
// missing barrier. Done by the first thread that reaches it.
template <class T>
inline void freshen(T& variable, unsigned& epoch) {
  if (epoch == current->block->epoch) [[likely]]
    return;
  epoch = current->block->epoch;
  current->block->static_shared_bytes += sizeof variable;
  note_shared(const_cast<const void*>(static_cast<const volatile void*>(&variable)), sizeof variable);
  if constexpr (std::is_trivially_default_constructible_v<std::remove_all_extents_t<T>>)
    __builtin_memset(const_cast<void*>(static_cast<const volatile void*>(&variable)), current->block->poison,
                     sizeof variable);
}

// `extern __shared__ T name[]` at file scope.
template <class T>
struct DynamicShared {
  operator T*() const { return static_cast<T*>(dynamic_shared()); }
  template <class U>
  explicit operator U*() const {  // C casts; for reinterpret_cast the rewriter writes a plus before the name
    return reinterpret_cast<U*>(dynamic_shared());
  }
  T* operator&() const { return static_cast<T*>(dynamic_shared()); }
};

}  // namespace stitch_emulated

// The rewriter adds this after a declaration of static shared memory.
#define STITCH_FRESH(variable)                          \
  do {                                                  \
    static thread_local unsigned stitch_epoch;          \
    ::stitch_emulated::freshen(variable, stitch_epoch); \
  } while (false)

// Variables, not macros: host code uses these names for locals and members. The scheduler sets threadIdx at
// each switch.
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
constexpr int warpSize = 32;
