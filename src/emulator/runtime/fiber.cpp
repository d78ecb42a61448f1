#include "fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace stitch_emulated {

namespace {

constexpr size_t slab_stacks = 32;
// A guard page costs two kernel mappings, of which a process has 65,530: a cooperative launch of 132 blocks
// of 1024 threads would use them all. Only the first stacks have guards.
constexpr int guarded_stacks = 16 * 1024;
std::atomic<int> guards{0};

}  // namespace

FiberPool::~FiberPool() {
  guards -= static_cast<int>(stacks_.size());
  for (const Slab& slab : slabs_) {
    forget_frames(slab.memory, slab.bytes);
    munmap(slab.memory, slab.bytes);
  }
}

void FiberPool::prepare(Fiber& fiber, size_t number) {
  // Different offsets within a page, since equal ones compete for the same cache lines.
  size_t shift = number * 320 % 4096 & ~size_t{63};
  prepare_context(fiber.context, stacks_[number], stack_bytes_ - shift, entry_, &fiber);
}

bool FiberPool::grow() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t step = (stack_bytes_ + 2 * page - 1) / page * page;  // a guard page below each stack
  void* memory = mmap(nullptr, step * slab_stacks, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  slabs_.push_back({memory, step * slab_stacks});
  forget_frames(memory, step * slab_stacks);
  for (size_t i = slab_stacks; i-- > 0;) {
    char* bottom = static_cast<char*>(memory) + i * step;
    if (guards.fetch_add(1) < guarded_stacks) mprotect(bottom, page, PROT_NONE);
    stacks_.push_back(bottom + page);
    fibers_.push_back(std::make_unique<Fiber>());
    prepare(*fibers_.back(), fibers_.size() - 1);
    idle_.push_back(fibers_.back().get());
  }
  return true;
}

Fiber* FiberPool::take() {
  if (idle_.empty() && !grow()) return nullptr;
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void FiberPool::reset() {
  idle_.clear();
  for (size_t i = fibers_.size(); i-- > 0;) {
    forget_frames(stacks_[i], stack_bytes_);
    prepare(*fibers_[i], i);
    idle_.push_back(fibers_[i].get());
  }
}

}  // namespace stitch_emulated
