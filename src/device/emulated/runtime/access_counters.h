// What kernels do to memory, counted while a launch is logged: programs that are compiled for it call a hook
// at every access (the compiler's own instrumentation for data races, -fsanitize=thread, with hooks of ours
// instead of its library). Lanes run one after the other here, so a warp's request is put together from the
// lanes' accesses of one instruction: the n-th time that a lane comes by.
#pragma once

#include <cstdint>
#include <string>

namespace stitch_emulated {

struct LaunchState;

// Whether this block is one of those that are counted: of large grids, about 64 of the blocks.
void begin_counting(const LaunchState& launch, uint64_t block);
// Its requests are added up.
void end_counting();
void count_barrier();
// Static shared memory of the block that runs.
void note_shared(const void* address, size_t bytes);

// While one lives, this OS thread works for many lanes at once: what it touches is nobody's access.
class NotCounted {
 public:
  NotCounted();
  NotCounted(const NotCounted&) = delete;
  ~NotCounted();

 private:
  void* paused_;
};

// What the last launch came to as JSON ("" if nothing was counted), and nothing from now on.
std::string take_counters();

}  // namespace stitch_emulated
