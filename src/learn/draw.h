// Random numbers that are the same on every machine and with every standard library: synthetic tasks are
// known by their seeds.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/format.h"

namespace stitch::learn {

class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  // A stream of its own for a part of the work, so that parts can be done again alone.
  Draw(uint64_t seed, uint64_t part) : state_(mixed(seed ^ mixed(part + 0x632be59bd9b4e019U))) {}

  uint64_t next() {  // SplitMix64
    state_ += 0x9e3779b97f4a7c15U;
    return mixed(state_);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  int64_t below(int64_t end) { return static_cast<int64_t>(uniform() * static_cast<double>(end)); }
  bool chance(double probability) { return uniform() < probability; }
  template <class T>
  const T& of(std::span<const T> choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }

 private:
  static uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
  }
  uint64_t state_;
};

// FNV-1a, for names that become features and for splits: the same in every version.
inline uint64_t stable_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3U;
  return hash;
}

// Which part of a training set a task belongs to. By its name only, so that no run trains on another run's
// test set.
enum class Split : uint8_t { train, validation, test };

// 8/10 for training, 1/10 for validation, 1/10 for testing.
inline Split split_of(std::string_view task) {
  const uint64_t tenth = stable_hash(format("split {}", task)) % 10;
  return tenth == 0 ? Split::test : tenth == 1 ? Split::validation : Split::train;
}

// The same for one of five folds: over all folds every task is held out once.
inline Split split_of(std::string_view task, int fold) {
  constexpr uint64_t folds = 5;
  const uint64_t hash = stable_hash(format("fold {}", task));
  if (hash % folds == static_cast<uint64_t>(fold)) return Split::test;
  return hash / folds % 9 == 0 ? Split::validation : Split::train;
}

constexpr std::string_view name(Split split) {
  return split == Split::train ? "train" : split == Split::validation ? "validation" : "test";
}

}  // namespace stitch::learn
