// Counts kernels' memory accesses while a launch is logged. Instrumented programs call a hook at every access
// (-fsanitize=thread with our hooks instead of its library). Lanes run one after the other, so a warp's
// request is assembled from its lanes' n-th executions of one instruction.
#pragma once

#include <cstdint>
#include <string>

namespace stitch_emulated {

struct LaunchState;

// Starts counting if this block is sampled: about 64 blocks of a large grid.
void begin_counting(const LaunchState& launch, uint64_t block);
// Adds up its requests.
void end_counting();
void count_barrier();
// Static shared memory of the running block.
void note_shared(const void* address, size_t bytes);

// Suspends counting on this OS thread while it works on behalf of a whole warp.
class NotCounted {
 public:
  NotCounted();
  NotCounted(const NotCounted&) = delete;
  ~NotCounted();

 private:
  void* paused_;
};

// Counters of the last launch as JSON ("" if none), and resets them.
std::string take_counters();

}  // namespace stitch_emulated
