// A training run on disk: one safetensors file, whole or not there, from which it goes on with the same
// curve. And policies alone, as they ship.
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
  std::vector<Scorer> members;  // of a committee; one at least, all of one shape
  std::string about;
};
// FP32, a tensor a layer: members.0.layers.0.weight (in, out), members.0.layers.0.bias (out), …
Result<void> write_policy(const fs::path& file, std::span<const Scorer> members, const std::string& about);
Result<PolicyFile> read_policy(const fs::path& file);
// The same from bytes, for weights that are part of the program.
Result<PolicyFile> parse_policy(std::span<const std::byte> bytes);

}  // namespace stitch::learn
