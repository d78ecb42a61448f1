// Stacks for CUDA threads, allocated on demand and kept by their worker.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "context_switch.h"

namespace stitch_emulated {

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
