// Training: python/stitchcuda_torch/train_coder.py reads a table and writes the weights, in a process of its
// own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace stitch::learn {

struct TrainOptions {
  int members = 6;
  int epochs = 60;
  double rate = 3e-3;  // of Adam, at first; falls to zero
  uint64_t seed = 1;
  std::vector<double> cautions;  // to compare with, besides the one that training finds
  std::string python;            // empty: as find_python has it
};
Json to_json(const TrainOptions& options);

struct TrainHooks {
  std::function<void(const Json& point)> on_epoch;  // epoch, loss, validation
  std::function<bool()> should_stop;
};

// Reads folder/table.safetensors; writes folder/coder.safetensors and, after every epoch,
// folder/checkpoint.pt, from which another call with the same options and table continues. Returns what
// training and the comparison found; nothing if it was stopped.
Result<std::optional<Json>> train_coder(const fs::path& folder, const TrainOptions& options,
                                        const TrainHooks& hooks);

}  // namespace stitch::learn
