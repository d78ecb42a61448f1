// A network that scores choices: features of a choice in, one number out. Choices are compared by their
// scores, so nothing about the network changes when there are new ones.
#pragma once

#include <span>
#include <vector>

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

}  // namespace stitch::learn
