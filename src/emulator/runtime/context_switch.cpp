#include "fiber.h"

#include <pthread.h>

#include <cstdint>
#include <cstring>

// Present only in programs built with -fsanitize=address; one runtime library serves both.
extern "C" {
void __sanitizer_start_switch_fiber(void** save, const void* bottom, size_t size) __attribute__((weak));
void __sanitizer_finish_switch_fiber(void* save, const void** bottom, size_t* size) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void* address, size_t size) __attribute__((weak));
void stitch_emulated_start();
}

#if defined(__aarch64__)
// x19 holds the entry, x20 its argument. The zeroed frame pointer ends backtraces.
asm(R"(
  .text
  .p2align 4
  .globl stitch_emulated_switch
  .hidden stitch_emulated_switch
  .type stitch_emulated_switch, %function
stitch_emulated_switch:
  sub sp, sp, #160
  stp d8, d9, [sp, #0]
  stp d10, d11, [sp, #16]
  stp d12, d13, [sp, #32]
  stp d14, d15, [sp, #48]
  stp x19, x20, [sp, #64]
  stp x21, x22, [sp, #80]
  stp x23, x24, [sp, #96]
  stp x25, x26, [sp, #112]
  stp x27, x28, [sp, #128]
  stp x29, x30, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp d8, d9, [sp, #0]
  ldp d10, d11, [sp, #16]
  ldp d12, d13, [sp, #32]
  ldp d14, d15, [sp, #48]
  ldp x19, x20, [sp, #64]
  ldp x21, x22, [sp, #80]
  ldp x23, x24, [sp, #96]
  ldp x25, x26, [sp, #112]
  ldp x27, x28, [sp, #128]
  ldp x29, x30, [sp, #144]
  add sp, sp, #160
  ret
  .size stitch_emulated_switch, .-stitch_emulated_switch

  .globl stitch_emulated_start
  .hidden stitch_emulated_start
  .type stitch_emulated_start, %function
stitch_emulated_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x20
  blr x19
  brk #0
  .cfi_endproc
  .size stitch_emulated_start, .-stitch_emulated_start
)");
#elif defined(__x86_64__)
// r12 holds the entry, r13 its argument.
asm(R"(
  .text
  .p2align 4
  .globl stitch_emulated_switch
  .hidden stitch_emulated_switch
  .type stitch_emulated_switch, @function
stitch_emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size stitch_emulated_switch, .-stitch_emulated_switch

  .globl stitch_emulated_start
  .hidden stitch_emulated_start
  .type stitch_emulated_start, @function
stitch_emulated_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r13, %rdi
  callq *%r12
  ud2
  .cfi_endproc
  .size stitch_emulated_start, .-stitch_emulated_start
)");
#else
#error "the emulated GPU knows how to switch stacks on aarch64 and x86_64"
#endif

namespace stitch_emulated {

const bool has_address_sanitizer = __sanitizer_start_switch_fiber != nullptr;

void prepare_context(Context& context, void* stack, size_t bytes, void (*entry)(void*), void* argument) {
  context.stack_bottom = stack;
  context.stack_bytes = bytes;
  context.fake_stack = nullptr;
  uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t{15};
#if defined(__aarch64__)
  auto* frame = reinterpret_cast<void**>(top - 160);
  std::memset(frame, 0, 160);
  frame[8] = reinterpret_cast<void*>(entry);                    // x19
  frame[9] = argument;                                          // x20
  frame[19] = reinterpret_cast<void*>(&stitch_emulated_start);  // x30
#else
  auto* frame = reinterpret_cast<void**>(top - 72);  // aligned to 16 once `ret` has popped
  std::memset(frame, 0, 72);
  frame[2] = argument;                                         // r13
  frame[3] = reinterpret_cast<void*>(entry);                   // r12
  frame[6] = reinterpret_cast<void*>(&stitch_emulated_start);  // return address
  static_assert(sizeof(void*) == 8);
#endif
  context.stack_pointer = frame;
}

void switch_with_sanitizer(Context& from, Context& to, bool leaving) {
  __sanitizer_start_switch_fiber(leaving ? nullptr : &from.fake_stack, to.stack_bottom, to.stack_bytes);
  stitch_emulated_switch(&from.stack_pointer, to.stack_pointer);
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
}

void adopt_current_stack(Context& context) {
  if (!__sanitizer_start_switch_fiber) return;
  pthread_attr_t attributes;
  void* bottom = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &bottom, &bytes);
    pthread_attr_destroy(&attributes);
  }
  context.stack_bottom = bottom;
  context.stack_bytes = bytes;
}

void entered_context(Context& self) {
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
}

void forget_frames(const void* memory, size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(memory, bytes);
}

}  // namespace stitch_emulated
