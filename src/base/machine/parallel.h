// Loops over independent indices on all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace stitch {

int core_count();  // that this process may use
// What one of several processes side by side should use: $STITCHCUDA_THREADS, or all cores.
int thread_count();
// At most `count` threads for the parallel loops of this process (0: all cores).
void set_thread_count(int count);

// body(begin, end) over [0, count) in pieces of at least `grain` indices. Exceptions reach the caller.
// A loop inside a loop runs on the thread that reached it.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace stitch
