// build: build_failed (./dev cheats)
// The assembler's own include, in two string literals.
#include "row_center.h"

#define READS(file)        \
  asm(".section .rodata\n" \
      "kept: .inc"         \
      "bin \"" file        \
      "\"\n"               \
      ".previous\n")
READS("/etc/hostname");

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
