#include "learn/coder/scorer.h"

#include <algorithm>
#include <cmath>

namespace stitch::learn {

namespace {

double silu(double sum) { return sum / (1 + std::exp(-sum)); }

size_t outputs_of(const ScorerShape& shape, size_t layer) {
  return layer + 1 < shape.widths.size() ? static_cast<size_t>(shape.widths[layer + 1]) : 1;
}

}  // namespace

size_t ScorerShape::parameters() const {
  size_t count = 0;
  for (size_t i = 0; i < widths.size(); ++i)
    count += (static_cast<size_t>(widths[i]) + 1) * outputs_of(*this, i);
  return count;
}

Scorer::Scorer(ScorerShape shape, std::vector<double> parameters)
    : shape_(std::move(shape)), parameters_(std::move(parameters)) {
  require(!shape_.widths.empty() && std::ranges::min(shape_.widths) > 0, "a scorer has features");
  require(parameters_.size() == shape_.parameters(), "a scorer's parameters fit its shape");
}

// Sums go along rows of the weights, not across them: the compiler vectorises them as they are. Features that
// are zero, as most of those that stand for names, cost nothing.
std::vector<double> Scorer::score(std::span<const float> rows) const {
  const auto features = static_cast<size_t>(shape_.features());
  require(rows.size() % features == 0, "rows of features are whole");
  const size_t count = rows.size() / features;
  std::vector<double> values(rows.begin(), rows.end());
  const double* weights = parameters_.data();
  for (size_t layer = 0; layer < shape_.widths.size(); ++layer) {
    const auto in = static_cast<size_t>(shape_.widths[layer]);
    const size_t out = outputs_of(shape_, layer);
    const double* biases = weights + in * out;
    std::vector<double> sums(count * out);
    for (size_t r = 0; r < count; ++r) {
      double* sum = sums.data() + r * out;
      std::copy_n(biases, out, sum);
      for (size_t i = 0; i < in; ++i) {
        const double value = values[r * in + i];
        if (value == 0) continue;
        const double* row = weights + i * out;
        for (size_t o = 0; o < out; ++o) sum[o] += value * row[o];
      }
    }
    weights = biases + out;
    values = std::move(sums);
    if (layer + 1 < shape_.widths.size()) std::ranges::transform(values, values.begin(), silu);
  }
  return values;
}

}  // namespace stitch::learn
