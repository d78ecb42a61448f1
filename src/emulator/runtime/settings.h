// The modes of the emulated GPU, from the environment or set by a program.
//   STITCH_EMULATED_ORDER    forward | reverse | shuffle:SEED | lag:SEED   order of threads and blocks
//   STITCH_EMULATED_THREADS  N                                  OS threads that run blocks
//   STITCH_EMULATED_MEMORY   bytes, or 4G, 512M                 how much cudaMalloc has to give
//   STITCH_EMULATED_POISON   a byte, 0 to 255                   what fresh memory is filled with
//   STITCH_EMULATED_STACK    bytes, or 256K                     of each CUDA thread
#pragma once

#include <cstddef>
#include <cstdint>

namespace stitch_emulated {

struct Order {
  // lag: one of a block's warps, or half of them, different at each launch, runs only when no other can.
  enum Kind : uint8_t { forward, reverse, shuffle, lag } kind = forward;
  uint64_t seed = 0;
};

struct Settings {
  Order order;
  unsigned workers = 1;
  size_t memory_bytes = 0;
  size_t stack_bytes = 128 * 1024;
  int poison = 0xFF;             // as floats, halves and doubles: NaNs
  bool host_memory_too = false;  // host memory counts as the device's
};

[[gnu::visibility("hidden")]] Settings& settings();  // not for programs to link
// False if the text is not an order.
bool parse_order(const char* text, Order& out);

// SplitMix64: the same sequence on every machine.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t bound) { return next() % bound; }
};

}  // namespace stitch_emulated
