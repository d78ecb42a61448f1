// A program for many sizes: one pass for each that a caller used, the least recently used ones forgotten.
// Passes share scratch memory, which grows to what the largest of them needs.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stitch/runtime/arena.h"
#include "stitch/runtime/exports.h"
#include "stitch/runtime/graph.h"
#include "stitch/runtime/sizes.h"

namespace stitch {

// Bytes that are needed from one region to another, both included.
struct Need {
  int64_t bytes;
  int first, last;
};

// The lowest offset for each that is free while it is needed, larger ones first. Returns the bytes of all.
inline size_t lay_out(const std::vector<Need>& needs, std::vector<size_t>& offsets) {
  std::vector<size_t> order(needs.size());
  for (size_t i = 0; i < order.size(); ++i) {
    size_t at = i;
    for (; at > 0 && needs[order[at - 1]].bytes < needs[i].bytes; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  offsets.assign(needs.size(), 0);
  size_t all = 0;
  for (size_t placed = 0; placed < order.size(); ++placed) {
    const Need& own = needs[order[placed]];
    const size_t bytes = arena_size(static_cast<size_t>(own.bytes));
    size_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 0; i < placed; ++i) {
        const Need& other = needs[order[i]];
        const size_t begin = offsets[order[i]], end = begin + arena_size(static_cast<size_t>(other.bytes));
        if (other.last < own.first || own.last < other.first || offset + bytes <= begin || offset >= end)
          continue;
        offset = end;
        moved = true;
      }
    }
    offsets[order[placed]] = offset;
    if (offset + bytes > all) all = offset + bytes;
  }
  return all;
}

template <class Shared, class Pass, class Sizes>
class Passes {
 public:
  Passes() = default;
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;
  ~Passes() {
    if (scratch_) (void)cudaFree(scratch_);
  }

  // Calls `with(pass)` for the pass at these sizes; one caller at a time, since passes share memory.
  template <class Program, class With>
  StitchStatus at(Program& program, const Sizes& sizes, With&& with) {
    std::lock_guard lock(mutex_);
    Entry* entry = nullptr;
    for (Entry& each : entries_)
      if (std::memcmp(&each.pass->sizes, &sizes, sizeof sizes) == 0) entry = &each;
    if (!entry) STITCH_OK_OR_RETURN(make(program, sizes, &entry));
    if (entry->bytes > capacity_) STITCH_OK_OR_RETURN(grow(entry->bytes));
    entry->last_used = ++clock_;
    return with(*entry->pass);
  }

  // The same for a run: after that of another size, on whichever stream it was.
  template <class Program>
  StitchStatus run(Program& program, const Sizes& sizes, const StitchTensor* in, int n_in,
                   const StitchTensor* out, int n_out, cudaStream_t stream) {
    return at(program, sizes, [&](Pass& pass) -> StitchStatus {
      if (last_ && last_ != &pass) STITCH_OK_OR_RETURN(pass.graphs.order_after(last_->graphs, stream));
      last_ = &pass;
      return pass.run(in, n_in, out, n_out, stream);
    });
  }

 private:
  static constexpr size_t kept_passes = 64;

  struct Entry {
    std::unique_ptr<Pass> pass;
    std::vector<size_t> offsets;
    size_t bytes = 0;
    uint64_t last_used = 0;
  };

  template <class Program>
  StitchStatus make(Program& program, const Sizes& sizes, Entry** out) {
    if (entries_.size() == kept_passes) forget_oldest();
    Entry made;
    made.pass.reset(new Pass(program, sizes));
    const size_t before = program.library_bytes();
    STITCH_OK_OR_RETURN(made.pass->create());
    if (program.library_bytes() != before)
      for (Entry& each : entries_) each.pass->graphs.forget();
    made.bytes = lay_out(made.pass->needs(), made.offsets);
    if (scratch_ && made.bytes <= capacity_) made.pass->place(scratch_, made.offsets);
    entries_.push_back(std::move(made));
    *out = &entries_.back();
    return STITCH_OK;
  }

  void forget_oldest() {
    size_t oldest = 0;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].last_used < entries_[oldest].last_used) oldest = i;
    // Its work may still run, and a run on another stream would have to wait for it.
    (void)cudaDeviceSynchronize();
    if (last_ == entries_[oldest].pass.get()) last_ = nullptr;
    if (oldest + 1 != entries_.size()) std::swap(entries_[oldest], entries_.back());
    entries_.pop_back();
  }

  // Graphs hold the old address.
  StitchStatus grow(size_t bytes) {
    for (Entry& each : entries_) each.pass->graphs.forget();
    if (scratch_) STITCH_CUDA(cudaFree(scratch_));
    scratch_ = nullptr;
    capacity_ = 0;
    STITCH_CUDA(cudaMalloc(&scratch_, bytes));
    capacity_ = bytes;
    for (Entry& each : entries_)
      if (each.bytes <= capacity_) each.pass->place(scratch_, each.offsets);
    return STITCH_OK;
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  Pass* last_ = nullptr;
  char* scratch_ = nullptr;
  size_t capacity_ = 0;
  uint64_t clock_ = 0;
};

template <class Sizes, class Program, size_t count, class Inputs, class Outputs>
int run_at_sizes(Program* program, const SizeRule<Sizes> (&rules)[count], Inputs inputs,
                 const StitchTensor* in, int n_in, Outputs outputs, const StitchTensor* out, int n_out,
                 void* stream) {
  return without_exceptions([&]() -> StitchStatus {
    if (!program) return fail(STITCH_BAD_ARGUMENT, "the program is null");
    Sizes sizes{};
    STITCH_OK_OR_RETURN(read_sizes(rules, in, n_in, sizes));
    STITCH_OK_OR_RETURN(check_tensors("input", inputs(sizes), in, n_in));
    STITCH_OK_OR_RETURN(check_tensors("output", outputs(sizes), out, n_out));
    DeviceScope scope(program->device);
    return program->passes.run(*program, sizes, in, n_in, out, n_out, static_cast<cudaStream_t>(stream));
  });
}

// For one region: `with(pass)` checks and enqueues it.
template <class Program, class Sizes, class With>
int with_pass(Program* program, const Sizes& sizes, With&& with) {
  return without_exceptions([&]() -> StitchStatus {
    if (!program) return fail(STITCH_BAD_ARGUMENT, "the program is null");
    DeviceScope scope(program->device);
    return program->passes.at(*program, sizes,
                              [&](auto& pass) { return static_cast<StitchStatus>(with(pass)); });
  });
}

}  // namespace stitch
