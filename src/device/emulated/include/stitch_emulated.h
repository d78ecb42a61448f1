// What the emulated GPU offers beyond CUDA: its modes and its findings. C, so that a runner can look them up
// by name.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Why the last kernel failed (divergent barrier, trap, assert), or what a memory check found; "" if nothing
// did. Good until the next call from the same thread.
const char* stitch_emulated_last_report(void);

// Looks at the guard zones of every allocation. "" if all are whole, otherwise what was damaged and where.
const char* stitch_emulated_check_memory(void);
// The same as a number: how many allocations were written outside. 0 if none was.
int stitch_emulated_check_guards(void);

// "forward", "reverse", "shuffle:SEED" or "lag:SEED" (some warps run only when no other can): the
// order of threads in a block and of blocks. 0 if understood.
int stitch_emulated_set_order(const char* order);
// From now on the order is what it is: setting another is refused (1).
void stitch_emulated_settle_order(void);
// The byte that fresh device and shared memory is filled with; 255 (NaNs) unless set.
void stitch_emulated_set_poison(int byte);
// Whether memory that cudaMalloc did not give counts as the device's: for a caller in the same process whose
// tensors are ordinary memory (the Python package). No, unless set.
void stitch_emulated_take_host_memory(int yes);
// Device memory beside a page that nobody can touch: behind its last byte, rounded up to `alignment`, or with
// `before` in front of its first. Null if there is none. cudaFree takes it back.
void* stitch_emulated_malloc_fenced(size_t bytes, size_t alignment, int before);
// OS threads that run blocks.
void stitch_emulated_set_threads(unsigned count);
// How many bytes cudaMalloc has to give.
void stitch_emulated_set_memory(size_t bytes);
// Bytes in use, and allocations that were never freed.
size_t stitch_emulated_memory_in_use(void);
size_t stitch_emulated_allocation_count(void);

// The launch log: from start to stop, everything that was executed, in that order. What it returns is a JSON
// array, good until the next call from the same thread. Every entry has "kind", "name" and "graph" (whether a
// graph replayed it); a "kernel" has "grid", "block", "shared_static", "shared_dynamic", "cooperative"; a
// "memcpy" and a "memset" have "bytes"; a "library" call has its size in its name ("cublasLtMatmul 8x4x16").
void stitch_emulated_log_start(void);
const char* stitch_emulated_log_stop(void);

#ifdef __cplusplus
}
#endif
