// The weights of a committee on disk, as training writes them: safetensors, FP32, a tensor a layer
// (members.0.layers.0.weight (in, out), members.0.layers.0.bias (out), …) and a JSON text `about`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "learn/coder/scorer.h"

namespace stitch::learn {

struct WeightsFile {
  std::vector<Scorer> members;  // one at least, all of one shape
  std::string about;
};
Result<WeightsFile> read_weights(const fs::path& file);
// The same from bytes, for weights that are part of the program.
Result<WeightsFile> parse_weights(std::span<const std::byte> bytes);

}  // namespace stitch::learn
