// Which part of a training set a task belongs to. By its name only, so that no run trains on another run's
// test set.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/format.h"
#include "learn/draw.h"

namespace stitch::learn {

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
