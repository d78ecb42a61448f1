// Cooperative groups: block, tile, coalesced group, grid.
#pragma once

#include <type_traits>

#include "cuda_runtime.h"

namespace cooperative_groups {

// The lanes of a mask: common to tiles and coalesced groups.
class stitch_lanes {
 public:
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(__popc(mask_ & ((1u << stitch_emulated::lane()) - 1)));
  }
  void sync(unsigned line = __builtin_LINE()) const { __syncwarp(mask_, line); }
  template <class T>
  T shfl(T value, unsigned rank, unsigned line = __builtin_LINE()) const {
    return pick(value, rank % size(), "shfl", line);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, unsigned line = __builtin_LINE()) const {
    return pick(value, delta > thread_rank() ? thread_rank() : thread_rank() - delta, "shfl_up", line);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, unsigned line = __builtin_LINE()) const {
    const unsigned rank = thread_rank();
    return pick(value, delta >= size() - rank ? rank : rank + delta, "shfl_down", line);
  }
  template <class T>
  T shfl_xor(T value, unsigned mask, unsigned line = __builtin_LINE()) const {
    const unsigned rank = thread_rank() ^ mask;
    return pick(value, rank < size() ? rank : thread_rank(), "shfl_xor", line);
  }
  int any(int predicate, unsigned line = __builtin_LINE()) const {
    return __any_sync(mask_, predicate, line);
  }
  int all(int predicate, unsigned line = __builtin_LINE()) const {
    return __all_sync(mask_, predicate, line);
  }
  unsigned ballot(int predicate, unsigned line = __builtin_LINE()) const {
    return packed(__ballot_sync(mask_, predicate, line));
  }
  template <class T>
  unsigned match_any(T value, unsigned line = __builtin_LINE()) const {
    return packed(__match_any_sync(mask_, value, line));
  }
  template <class T>
  unsigned match_all(T value, int& same, unsigned line = __builtin_LINE()) const {
    return packed(__match_all_sync(mask_, value, &same, line));
  }
  unsigned stitch_mask() const { return mask_; }

 protected:
  explicit stitch_lanes(unsigned mask) : mask_(mask) {}
  // The lane with `rank` in the group.
  unsigned lane_of(unsigned rank) const {
    unsigned rest = mask_;
    while (rank--) rest &= rest - 1;
    return static_cast<unsigned>(__ffs(static_cast<int>(rest)) - 1);
  }
  template <class T>
  T pick(T value, unsigned rank, const char* what, unsigned line) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const unsigned source = lane_of(rank);
    if constexpr (sizeof(T) <= 8) {
      return stitch_emulated::shuffle(mask_, value, source, what, line);
    } else {  // word by word, as in CUDA
      unsigned words[(sizeof(T) + 3) / 4] = {};
      __builtin_memcpy(words, &value, sizeof(T));
      for (unsigned& word : words) word = stitch_emulated::shuffle(mask_, word, source, what, line);
      __builtin_memcpy(static_cast<void*>(&value), words, sizeof(T));
      return value;
    }
  }
  // Bit i is the group's thread i.
  unsigned packed(unsigned lanes) const {
    unsigned out = 0, rank = 0;
    for (unsigned rest = mask_; rest; rest &= rest - 1, ++rank)
      out |= (lanes >> (__ffs(static_cast<int>(rest)) - 1) & 1u) << rank;
    return out;
  }
  unsigned mask_;
};

class thread_block {
 public:
  static void sync(unsigned line = __builtin_LINE()) { __syncthreads(line); }
  static unsigned thread_rank() { return stitch_emulated::current->rank; }
  static unsigned size() { return num_threads(); }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  void sync(unsigned line = __builtin_LINE()) const { stitch_emulated::grid_barrier(line); }
  bool is_valid() const { return stitch_emulated::grid_is_cooperative(); }
  unsigned long long block_rank() const {
    return blockIdx.x + static_cast<unsigned long long>(gridDim.x) * (blockIdx.y + gridDim.y * blockIdx.z);
  }
  unsigned long long num_blocks() const {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  unsigned long long thread_rank() const {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  unsigned long long num_threads() const { return num_blocks() * thread_block::num_threads(); }
  unsigned long long size() const { return num_threads(); }
  dim3 dim_blocks() const { return gridDim; }
  dim3 group_dim() const { return gridDim; }
  dim3 block_index() const { return blockIdx; }
};
inline grid_group this_grid() { return {}; }

class coalesced_group : public stitch_lanes {
 public:
  explicit coalesced_group(unsigned mask) : stitch_lanes(mask) {}
  unsigned meta_group_rank() const { return 0; }
  unsigned meta_group_size() const { return 1; }
};
inline coalesced_group coalesced_threads(unsigned line = __builtin_LINE()) {
  return coalesced_group(stitch_emulated::active_mask("coalesced_threads", line));
}

template <unsigned Size, class Parent = thread_block>
class thread_block_tile : public stitch_lanes {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "a tile is a power of two of at most 32 threads");

 public:
  thread_block_tile()
      : stitch_lanes((Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1)
                     << (stitch_emulated::lane() & ~(Size - 1) & 31)) {}
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned meta_group_rank() const { return stitch_emulated::current->rank / Size; }
  unsigned meta_group_size() const { return (thread_block::num_threads() + Size - 1) / Size; }
};
template <unsigned Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}
// A partition of a size known at run time.
template <class Parent>
inline coalesced_group tiled_partition(const Parent&, unsigned size) {
  const unsigned lane = stitch_emulated::lane();
  return coalesced_group((size >= 32 ? 0xffffffffu : (1u << size) - 1) << (lane / size * size));
}
template <class Group>
inline coalesced_group binary_partition(const Group& group, bool predicate,
                                        unsigned line = __builtin_LINE()) {
  const unsigned yes = __ballot_sync(group.stitch_mask(), predicate, line);
  return coalesced_group(predicate ? yes : group.stitch_mask() & ~yes);
}
template <class Group, class T>
inline coalesced_group labeled_partition(const Group& group, T label, unsigned line = __builtin_LINE()) {
  return coalesced_group(__match_any_sync(group.stitch_mask(), label, line));
}

template <class Group>
inline void sync(const Group& group, unsigned line = __builtin_LINE()) {
  group.sync(line);
}
template <class Group>
inline auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
inline auto group_size(const Group& group) {
  return group.size();
}

}  // namespace cooperative_groups
