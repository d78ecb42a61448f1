// Warp collectives. The last lane of a mask to arrive computes the result of every lane, so a collective
// keeps no state and lanes may be several collectives apart.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "access_counters.h"
#include "scheduler.h"
#include "stitch/core.h"
#include "stitch/host_types.h"
#include "stitch/small_floats.h"

namespace stitch_emulated {

namespace {

// Read from a lane that takes no part: undefined in CUDA. A NaN is noticed by sums, and by no maximum or
// minimum; other orders of threads give something large as any type of number, so that results differ.
uint64_t absent_lane(Order::Kind order) {
  switch (order) {
    case Order::reverse: return 0x7bff7bff7bff7bff;
    case Order::shuffle: return 0xfbfffbfffbfffbff;
    default: return ~uint64_t{0};
  }
}

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask; mask &= mask - 1) f(static_cast<uint32_t>(__builtin_ctz(mask)));
}

uint64_t agreed(Collective kind, const Thread* lanes, uint32_t mask) {
  uint64_t sum = 0, low = ~uint64_t{0}, high = 0, all_bits = ~uint64_t{0}, any_bits = 0, odd_bits = 0;
  int32_t signed_low = INT32_MAX, signed_high = INT32_MIN;
  uint32_t ballot = 0;
  for_lanes(mask, [&](uint32_t lane) {
    const uint64_t value = lanes[lane].value;
    sum += value;
    low = std::min(low, value);
    high = std::max(high, value);
    signed_low = std::min(signed_low, static_cast<int32_t>(value));
    signed_high = std::max(signed_high, static_cast<int32_t>(value));
    all_bits &= value;
    any_bits |= value;
    odd_bits ^= value;
    ballot |= static_cast<uint32_t>(value & 1) << lane;
  });
  switch (kind) {
    case Collective::ballot: return ballot;
    case Collective::any: return ballot != 0;
    case Collective::all: return ballot == mask;
    case Collective::uni: return ballot == mask || ballot == 0;
    case Collective::add: return static_cast<uint32_t>(sum);
    case Collective::min: return low;
    case Collective::max: return high;
    case Collective::smin: return static_cast<uint32_t>(signed_low);
    case Collective::smax: return static_cast<uint32_t>(signed_high);
    case Collective::bit_and: return all_bits;
    case Collective::bit_or: return any_bits;
    case Collective::bit_xor: return odd_bits;
    case Collective::match_all: return low == high ? mask : 0;
    default: return 0;
  }
}

void settle(Collective kind, Thread* lanes, uint32_t mask, Order::Kind order) {
  if (kind == Collective::sync) return;
  if (kind == Collective::shuffle) {
    uint64_t before[32];
    for_lanes(mask, [&](uint32_t lane) { before[lane] = lanes[lane].value; });
    for_lanes(mask, [&](uint32_t lane) {
      uint32_t source = lanes[lane].source;
      lanes[lane].value = mask >> source & 1 ? before[source] : absent_lane(order);
    });
    return;
  }
  if (kind == Collective::match_any) {
    uint32_t same[32];
    for_lanes(mask, [&](uint32_t lane) {
      same[lane] = 0;
      for_lanes(mask, [&](uint32_t other) {
        same[lane] |= static_cast<uint32_t>(lanes[lane].value == lanes[other].value) << other;
      });
    });
    for_lanes(mask, [&](uint32_t lane) { lanes[lane].value = same[lane]; });
    return;
  }
  const uint64_t answer = agreed(kind, lanes, mask);
  for_lanes(mask, [&](uint32_t lane) { lanes[lane].value = answer; });
}

}  // namespace

// Computes the collective that `first` waits in if all running lanes of its mask have reached it.
bool Worker::complete(Warp& warp, Thread* first, unsigned mask) {
  const uint32_t wanted = mask & warp.alive;
  if ((warp.arrived & wanted) != wanted) return false;
  Thread* lanes = &threads_[first->rank / 32 * 32];
  bool together = true;
  for_lanes(wanted, [&](uint32_t lane) {
    together &=
        lanes[lane].mask == mask && lanes[lane].kind == first->kind && lanes[lane].finish == first->finish;
  });
  if (!together) return false;
  warp.arrived &= ~wanted;
  if (first->finish) {
    void* all[32] = {};
    for_lanes(wanted, [&](uint32_t lane) { all[lane] = lanes[lane].mine; });
    const NotCounted paused;
    first->finish(all, wanted);
  } else {
    settle(first->kind, lanes, wanted, launch_->order.kind);
  }
  return true;
}

void Worker::wake_lanes(unsigned warp_rank, unsigned mask) {
  Thread* lanes = &threads_[warp_rank * 32];
  switch (launch_->order.kind) {
    case Order::forward:
    case Order::lag: for_lanes(mask, [&](uint32_t lane) { make_ready(&lanes[lane]); }); break;
    case Order::reverse:
      for (uint32_t lane = 32; lane-- > 0;)
        if (mask >> lane & 1) ready_.push(&lanes[lane]);
      break;
    case Order::shuffle: {
      Queue woken;
      for_lanes(mask, [&](uint32_t lane) { woken.push(&lanes[lane]); });
      release(woken);
      break;
    }
  }
}

void Worker::join_meeting(Thread* self, unsigned mask, const char* what, unsigned line) {
  const uint32_t bit = 1u << (self->rank & 31);
  if (!(mask & bit))
    fail(cudaErrorLaunchFailure, place(*self) + ": " + what +
                                     " with a mask that leaves out the calling lane (line " +
                                     std::to_string(line) + ")");
  self->mask = mask;
  Warp& warp = warps_[self->rank / 32];
  warp.arrived |= bit;
  if (complete(warp, self, mask)) wake_lanes(self->rank / 32, mask & warp.alive);
  park(self, Wait::warp, what, line);
}

uint64_t Worker::exchange(Collective kind, unsigned mask, uint64_t value, unsigned source, const char* what,
                          unsigned line) {
  auto* self = static_cast<Thread*>(current);
  self->kind = kind;
  self->value = value;
  self->source = static_cast<uint8_t>(source & 31);
  self->finish = nullptr;
  launch_->note(kind == Collective::sync ? Did::barriers : Did::shuffles);
  join_meeting(self, mask, what, line);
  return self->value;
}

void Worker::exchange_with(unsigned mask, void* mine, void (*finish)(void* const*, unsigned),
                           const char* what, unsigned line) {
  auto* self = static_cast<Thread*>(current);
  self->kind = Collective::sync;
  self->mine = mine;
  self->finish = finish;
  launch_->note(std::string_view(what) == "mma_sync" ? Did::tensor_cores : Did::shuffles);
  join_meeting(self, mask, what, line);
}

uint64_t exchange(Collective kind, unsigned mask, uint64_t value, unsigned source, const char* what,
                  unsigned line) {
  return worker_of(current).exchange(kind, mask, value, source, what, line);
}
void exchange_with(unsigned mask, void* mine, void (*finish)(void* const*, unsigned), const char* what,
                   unsigned line) {
  worker_of(current).exchange_with(mask, mine, finish, what, line);
}

// mma.sync and ldmatrix: the last lane of a warp to arrive computes for all of them.

namespace {

constexpr int lanes = 32;

constexpr uint32_t absent[4] = {~0u, ~0u, ~0u, ~0u};  // NaNs, of lanes that have ended

struct Product {
  float* sums;
  const uint32_t *left, *right;
};

// `unpack(part, i)`: the i-th of the `each` numbers of a part.
template <int each, class Unpack>
void multiply_warp(void* const operands[lanes], Unpack unpack) {
  constexpr int half = 4 * each;  // of the depth
  float left[16][2 * half], right[2 * half][8], sums[16][8];
  auto each_sum = [&](auto visit) {
    for (int lane = 0; lane < lanes; ++lane)
      if (const auto* of_lane = static_cast<const Product*>(operands[lane]))
        for (int i = 0; i < 4; ++i) visit(of_lane->sums[i], sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
  };
  for (int lane = 0; lane < lanes; ++lane) {
    const int group = lane / 4, pair = lane % 4;
    const auto* of_lane = static_cast<const Product*>(operands[lane]);
    for (int i = 0; i < each; ++i) {
      for (int p = 0; p < 4; ++p)
        left[group + p % 2 * 8][p / 2 * half + each * pair + i] =
            unpack((of_lane ? of_lane->left : absent)[p], i);
      for (int p = 0; p < 2; ++p)
        right[p * half + each * pair + i][group] = unpack((of_lane ? of_lane->right : absent)[p], i);
    }
  }
  each_sum([](float& from, float& to) { to = from; });
  for (auto& sums_of_row : sums) {
    const auto& row = left[&sums_of_row - sums];
    for (int depth = 0; depth < 2 * half; ++depth)
      for (int column = 0; column < 8; ++column) sums_of_row[column] += row[depth] * right[depth][column];
  }
  each_sum([](float& to, float& from) { to = from; });
}

struct Row {
  const uint32_t* own;
  const uint32_t* (&wanted)[4];
};

void spread_rows(void* const rows[lanes], unsigned) {
  for (int lane = 0; lane < lanes; ++lane) {
    if (!rows[lane]) continue;
    for (int matrix = 0; matrix < 4; ++matrix) {
      const auto* row = static_cast<const Row*>(rows[matrix * 8 + lane / 4]);
      static_cast<const Row*>(rows[lane])->wanted[matrix] = row ? row->own : absent;
    }
  }
}

}  // namespace

void multiply_operands(Operands type, float* sums, const uint32_t* left, const uint32_t* right,
                       unsigned line) {
  void (*finish)(void* const[lanes], unsigned) = nullptr;
  switch (type) {
    case Operands::half:
      finish = [](void* const operands[lanes], unsigned) {
        multiply_warp<2>(operands, [](uint32_t part, int i) {
          return float_from_half(static_cast<uint16_t>(part >> 16 * i));
        });
      };
      break;
    case Operands::bfloat:
      finish = [](void* const operands[lanes], unsigned) {
        multiply_warp<2>(operands, [](uint32_t part, int i) {
          return float_from_bfloat(static_cast<uint16_t>(part >> 16 * i));
        });
      };
      break;
    case Operands::tf32:
      finish = [](void* const operands[lanes], unsigned) {
        multiply_warp<1>(operands, [](uint32_t part, int) {
          float number;
          std::memcpy(&number, &part, sizeof number);
          return number;
        });
      };
      break;
  }
  Product mine{sums, left, right};
  exchange_with(~0u, &mine, finish, "mma_sync", line);
}

void matrix_rows(const uint32_t* (&rows)[4], const void* row, unsigned line) {
  Row mine{static_cast<const uint32_t*>(row), rows};
  exchange_with(~0u, &mine, spread_rows, "ldmatrix", line);
}

}  // namespace stitch_emulated
