// One stack gives the processor to another: the registers a function must keep, and nothing else.
// Own assembly instead of boost.context: machines with only Boost's headers can build it, and no signal mask
// is saved as ucontext would.
#pragma once

#include <cstddef>

namespace stitch_emulated {

struct Context {
  void* stack_pointer = nullptr;
  // For AddressSanitizer, which must know the stack it is on.
  const void* stack_bottom = nullptr;
  size_t stack_bytes = 0;
  void* fake_stack = nullptr;
};

// A context that will call entry(argument) on its own stack at the first switch to it. entry never returns.
void prepare_context(Context& context, void* stack, size_t bytes, void (*entry)(void*), void* argument);

// With AddressSanitizer in the process, which has to be told.
[[gnu::visibility("hidden")]] extern const bool has_address_sanitizer;
void switch_with_sanitizer(Context& from, Context& to, bool leaving);
extern "C" void stitch_emulated_switch(void** save, void* load);

// Runs `to` until something switches back to `from`. `leaving` says that `from` will never run again.
inline void switch_context(Context& from, Context& to, bool leaving = false) {
  if (has_address_sanitizer) [[unlikely]]
    switch_with_sanitizer(from, to, leaving);
  else
    stitch_emulated_switch(&from.stack_pointer, to.stack_pointer);
}

// For the context of a thread's own stack and for new fibers' first step; a no-op without AddressSanitizer.
void adopt_current_stack(Context& context);
void entered_context(Context& self);
// Frames that were abandoned leave marks in AddressSanitizer's shadow, also where other memory is mapped
// later; this wipes them.
void forget_frames(const void* memory, size_t bytes);

}  // namespace stitch_emulated
