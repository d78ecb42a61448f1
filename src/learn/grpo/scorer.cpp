#include "learn/grpo/scorer.h"

#include <algorithm>
#include <cmath>

#include "learn/grpo/draw.h"

namespace stitch::learn {

namespace {

// SiLU: smooth, so that finite differences agree with its gradient everywhere.
double activated(double sum) { return sum / (1 + std::exp(-sum)); }
double activation_slope(double sum) {
  const double gate = 1 / (1 + std::exp(-sum));
  return gate * (1 + sum * (1 - gate));
}

}  // namespace

size_t ScorerShape::parameters() const {
  size_t count = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    const size_t in = static_cast<size_t>(widths[i]);
    const size_t out = i + 1 < widths.size() ? static_cast<size_t>(widths[i + 1]) : 1;
    count += (in + 1) * out;
  }
  return count;
}

void Scorer::lay_out() {
  require(!shape_.widths.empty() && std::ranges::min(shape_.widths) > 0, "a scorer has features");
  size_t at = 0;
  for (size_t i = 0; i < shape_.widths.size(); ++i) {
    const size_t in = static_cast<size_t>(shape_.widths[i]);
    const size_t out = i + 1 < shape_.widths.size() ? static_cast<size_t>(shape_.widths[i + 1]) : 1;
    layers_.push_back({in, out, at, at + in * out});
    at += (in + 1) * out;
  }
}

Scorer::Scorer(ScorerShape shape, uint64_t seed)
    : shape_(std::move(shape)), parameters_(shape_.parameters()) {
  lay_out();
  Draw draw(seed);
  for (const Layer& layer : layers_) {
    const bool last = &layer == &layers_.back();
    const double scale = (last ? 0.1 : 1.0) * std::sqrt(2.0 / static_cast<double>(layer.in));
    for (size_t i = 0; i < layer.in * layer.out; ++i) parameters_[layer.weights + i] = scale * draw.normal();
  }
}

Scorer::Scorer(ScorerShape shape, std::vector<double> parameters)
    : shape_(std::move(shape)), parameters_(std::move(parameters)) {
  lay_out();
  require(parameters_.size() == shape_.parameters(), "a scorer's parameters fit its shape");
}

// Sums go along rows of the weights, not across them: the compiler vectorises them as they are. Features that
// are zero, as most of those that stand for names, cost nothing.
std::vector<double> Scorer::score(std::span<const float> rows, Trace* trace) const {
  const size_t features = layers_.front().in;
  require(rows.size() % features == 0, "rows of features are whole");
  const size_t count = rows.size() / features;
  std::vector<double> values(rows.begin(), rows.end());
  if (trace) *trace = {.rows = count, .inputs = {}, .sums = {}};
  for (const Layer& layer : layers_) {
    std::vector<double> sums(count * layer.out);
    const double* weights = parameters_.data() + layer.weights;
    const double* biases = parameters_.data() + layer.biases;
    for (size_t r = 0; r < count; ++r) {
      double* sum = sums.data() + r * layer.out;
      std::copy_n(biases, layer.out, sum);
      for (size_t i = 0; i < layer.in; ++i) {
        const double value = values[r * layer.in + i];
        if (value == 0) continue;
        const double* row = weights + i * layer.out;
        for (size_t o = 0; o < layer.out; ++o) sum[o] += value * row[o];
      }
    }
    if (trace) {
      trace->inputs.push_back(std::move(values));
      trace->sums.push_back(sums);
    }
    values = std::move(sums);
    if (&layer != &layers_.back())
      for (double& value : values) value = activated(value);
  }
  return values;
}

void Scorer::backward(const Trace& trace, std::span<const double> score_gradients,
                      std::span<double> gradient) const {
  require(score_gradients.size() == trace.rows && gradient.size() == parameters_.size(),
          "a gradient fits its network");
  std::vector<double> upper(score_gradients.begin(), score_gradients.end());
  for (size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    const std::vector<double>& inputs = trace.inputs[l];
    if (l + 1 < layers_.size())
      for (size_t i = 0; i < upper.size(); ++i) upper[i] *= activation_slope(trace.sums[l][i]);
    double* weights = gradient.data() + layer.weights;
    double* biases = gradient.data() + layer.biases;
    for (size_t r = 0; r < trace.rows; ++r) {
      const double* up = upper.data() + r * layer.out;
      for (size_t o = 0; o < layer.out; ++o) biases[o] += up[o];
      for (size_t i = 0; i < layer.in; ++i) {
        const double value = inputs[r * layer.in + i];
        if (value == 0) continue;
        double* row = weights + i * layer.out;
        for (size_t o = 0; o < layer.out; ++o) row[o] += value * up[o];
      }
    }
    if (l == 0) return;
    std::vector<double> transposed(layer.in * layer.out);  // (out, in)
    for (size_t i = 0; i < layer.in; ++i)
      for (size_t o = 0; o < layer.out; ++o)
        transposed[o * layer.in + i] = parameters_[layer.weights + i * layer.out + o];
    std::vector<double> lower(trace.rows * layer.in, 0.0);
    for (size_t r = 0; r < trace.rows; ++r) {
      double* low = lower.data() + r * layer.in;
      for (size_t o = 0; o < layer.out; ++o) {
        const double value = upper[r * layer.out + o];
        const double* row = transposed.data() + o * layer.in;
        for (size_t i = 0; i < layer.in; ++i) low[i] += value * row[i];
      }
    }
    upper = std::move(lower);
  }
}

std::vector<double> log_probabilities(std::span<const double> scores) {
  const double most = std::ranges::max(scores);
  double sum = 0;
  for (double score : scores) sum += std::exp(score - most);
  const double all = most + std::log(sum);
  std::vector<double> out;
  for (double score : scores) out.push_back(score - all);
  return out;
}

}  // namespace stitch::learn
