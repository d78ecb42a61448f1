// Switches between stacks, saving callee-saved registers only. Own assembly instead of Boost.Context, which
// needs more than headers, and ucontext, which saves the signal mask.
#pragma once

#include <cstddef>

namespace stitch_emulated {

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

}  // namespace stitch_emulated
