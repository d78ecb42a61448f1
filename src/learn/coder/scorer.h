// A network that scores choices: features of a choice in, one number out. Choices are compared by their
// scores, so nothing about the network changes when there are new ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch::learn {

// Widths from the features to the last hidden layer; one score comes out of that.
struct ScorerShape {
  std::vector<int> widths;

  int features() const { return widths.front(); }
  size_t parameters() const;
  bool operator==(const ScorerShape&) const = default;
};

class Scorer {
 public:
  // `parameters`: layer after layer, weights (in, out), then biases (out).
  Scorer(ScorerShape shape, std::vector<double> parameters);

  const ScorerShape& shape() const { return shape_; }
  std::vector<double> score(std::span<const float> rows) const;  // rows: (choices, features)

 private:
  ScorerShape shape_;
  std::vector<double> parameters_;
};

// The weights of a committee on disk, as training writes them: safetensors, FP32, a tensor a layer
// (members.0.layers.0.weight (in, out), members.0.layers.0.bias (out), …) and a JSON text `about`.
struct WeightsFile {
  std::vector<Scorer> members;  // one at least, all of one shape
  std::string about;
};
Result<WeightsFile> read_weights(const fs::path& file);
// The same from bytes, for weights that are part of the program.
Result<WeightsFile> parse_weights(std::span<const std::byte> bytes);

}  // namespace stitch::learn
