// Stacks for CUDA threads, allocated on demand and kept by their worker.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace stitch_emulated {

// Switches between stacks, saving callee-saved registers only. Own assembly instead of Boost.Context, which
// needs more than headers, and ucontext, which saves the signal mask.
struct Context {
  void* stack_pointer = nullptr;
  // Stack bounds for AddressSanitizer.
  const void* stack_bottom = nullptr;
  size_t stack_bytes = 0;
  void* fake_stack = nullptr;
};

// A context that calls entry(argument) on its own stack at the first switch. entry never returns.
void prepare_context(Context& context, void* stack, size_t bytes, void (*entry)(void*), void* argument);

// AddressSanitizer must be told about switches.
[[gnu::visibility("hidden")]] extern const bool has_address_sanitizer;
void switch_with_sanitizer(Context& from, Context& to, bool leaving);
extern "C" void stitch_emulated_switch(void** save, void* load);

// Runs `to` until something switches back to `from`. `leaving`: `from` never runs again.
inline void switch_context(Context& from, Context& to, bool leaving = false) {
  if (has_address_sanitizer) [[unlikely]]
    switch_with_sanitizer(from, to, leaving);
  else
    stitch_emulated_switch(&from.stack_pointer, to.stack_pointer);
}

// For the context of a thread's own stack and for new fibers' first step; a no-op without AddressSanitizer.
void adopt_current_stack(Context& context);
void entered_context(Context& self);
// Clears AddressSanitizer's shadow of abandoned frames, which would persist when the memory is reused.
void forget_frames(const void* memory, size_t bytes);

struct Fiber {
  Context context;
};

// One worker's fibers. Not shared between OS threads.
class FiberPool {
 public:
  using Entry = void (*)(void* fiber);
  FiberPool(Entry entry, size_t stack_bytes) : entry_(entry), stack_bytes_(stack_bytes) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  // The most recently idle fiber (its stack is cached), or a new one; null without memory.
  Fiber* take();
  void give_back(Fiber* fiber) { idle_.push_back(fiber); }
  // Makes all fibers idle.
  void reset();

 private:
  void prepare(Fiber& fiber, size_t number);
  bool grow();

  struct Slab {
    void* memory;
    size_t bytes;
  };
  Entry entry_;
  size_t stack_bytes_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<char*> stacks_;
  std::vector<Fiber*> idle_;
  std::vector<Slab> slabs_;
};

}  // namespace stitch_emulated
