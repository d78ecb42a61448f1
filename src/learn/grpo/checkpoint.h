// A training run on disk: one safetensors file, whole or not there, from which it goes on with the same
// curve. And a policy alone, as it ships.
#pragma once

#include "base/file.h"
#include "learn/grpo/trainer.h"

namespace stitch::learn {

struct Checkpoint {
  Scorer policy, reference;
  Adam adam;
  int64_t steps = 0;
  std::string about;  // JSON: what it is trained with
};
// In double precision: nothing is rounded.
Result<void> write_checkpoint(const fs::path& file, const Trainer& trainer, const std::string& about);
Result<Checkpoint> read_checkpoint(const fs::path& file);

struct PolicyFile {
  Scorer policy;
  std::string about;
};
// FP32, a tensor a layer: layers.0.weight (in, out), layers.0.bias (out), …
Result<void> write_policy(const fs::path& file, const Scorer& policy, const std::string& about);
Result<PolicyFile> read_policy(const fs::path& file);
// The same from bytes, for weights that are part of the program.
Result<PolicyFile> parse_policy(std::span<const std::byte> bytes);

}  // namespace stitch::learn
