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

// "forward", "reverse" or "shuffle:SEED": the order of threads in a block and of blocks. 0 if understood.
int stitch_emulated_set_order(const char* order);
// OS threads that run blocks.
void stitch_emulated_set_threads(unsigned count);
// How many bytes cudaMalloc has to give.
void stitch_emulated_set_memory(size_t bytes);
// Bytes in use, and allocations that were never freed.
size_t stitch_emulated_memory_in_use(void);
size_t stitch_emulated_allocation_count(void);

#ifdef __cplusplus
}
#endif
