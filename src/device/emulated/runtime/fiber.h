// Stacks for CUDA threads, made when first needed and kept by their worker.
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

  // The fiber that was idle last (its stack is in the cache), or a new one; null if there is no memory for
  // one.
  Fiber* take();
  void give_back(Fiber* fiber) { idle_.push_back(fiber); }
  // Every fiber is idle again, whatever it was doing.
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
