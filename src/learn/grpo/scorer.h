// A network that scores options: features of an option in, one number out. A decision is a softmax over the
// scores of the options that are legal there, however many they are, so nothing about the network changes
// when there are new ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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
  // Weights drawn from the seed; the last layer's are small, so that the first policy is nearly uniform.
  Scorer(ScorerShape shape, uint64_t seed);
  Scorer(ScorerShape shape, std::vector<double> parameters);

  const ScorerShape& shape() const { return shape_; }
  // Layer after layer: weights (in, out), then biases (out).
  std::span<const double> parameters() const { return parameters_; }
  std::span<double> parameters() { return parameters_; }

  // What a backward pass needs of a forward one.
  struct Trace {
    size_t rows = 0;
    std::vector<std::vector<double>> inputs;  // of each layer: (rows, in)
    std::vector<std::vector<double>> sums;    // before the activation: (rows, out)
  };
  std::vector<double> score(std::span<const float> rows, Trace* trace = nullptr) const;
  // Adds to the gradient what follows from the scores' own.
  void backward(const Trace& trace, std::span<const double> score_gradients,
                std::span<double> gradient) const;

 private:
  struct Layer {
    size_t in, out, weights, biases;  // the last two: where they begin
  };
  void lay_out();

  ScorerShape shape_;
  std::vector<double> parameters_;
  std::vector<Layer> layers_;
};

// log softmax of the scores of one decision.
std::vector<double> log_probabilities(std::span<const double> scores);

}  // namespace stitch::learn
