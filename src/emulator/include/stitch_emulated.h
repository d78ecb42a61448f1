// The emulated GPU's own API: modes and reports. C linkage, for lookup by name.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Why the last kernel failed (divergent barrier, trap, assert), or what a memory check found; otherwise "".
// Valid until the next call from the same thread.
const char* stitch_emulated_last_report(void);

// Checks the guard zones of all allocations. "" if intact, otherwise what was damaged and where.
const char* stitch_emulated_check_memory(void);
// The number of allocations with out-of-bounds writes.
int stitch_emulated_check_guards(void);

// The order of threads in a block and of blocks: "forward", "reverse", "shuffle:SEED" or "lag:SEED" (some
// warps run only when no other can). Returns 0 on success.
int stitch_emulated_set_order(const char* order);
// Locks the order: setting another is refused (1).
void stitch_emulated_settle_order(void);
// The byte that fills fresh device and shared memory; default: 255 (NaNs).
void stitch_emulated_set_poison(int byte);
// Whether ordinary host memory is accepted as device memory, for a caller in the same process (the Python
// package). Default: no.
void stitch_emulated_take_host_memory(int yes);
// Device memory next to an inaccessible page: after its last byte, rounded up to `alignment`, or with
// `before` in front of its first. Null on failure. Free with cudaFree.
void* stitch_emulated_malloc_fenced(size_t bytes, size_t alignment, int before);
// While `yes`, fenced memory can't be accessed but by kernels, copies and library calls.
void stitch_emulated_close_to_host(int yes);
// OS threads that run blocks.
void stitch_emulated_set_threads(unsigned count);
// Bytes available to cudaMalloc.
void stitch_emulated_set_memory(size_t bytes);
// Bytes and allocations in use.
size_t stitch_emulated_memory_in_use(void);
size_t stitch_emulated_allocation_count(void);

// The launch log: everything executed between start and stop, in order, as a JSON array that is valid until
// the next call from the same thread. Every entry has "kind", "name" and "graph" (replayed by a graph); a
// "kernel" also "grid", "block", "shared_static", "shared_dynamic", "cooperative"; a "memcpy" or "memset"
// "bytes"; a "library" call has its size in its name ("cublasLtMatmul 8x4x16").
void stitch_emulated_log_start(void);
const char* stitch_emulated_log_stop(void);

#ifdef __cplusplus
}
#endif
