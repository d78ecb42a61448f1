#include "learn/grpo/adam.h"

#include <cmath>
#include <cstdint>

namespace stitch::learn {

bool Adam::step(std::span<double> parameters, std::span<const double> gradient, const AdamOptions& options) {
  double squared = 0;
  for (double each : gradient) squared += each * each;
  if (!std::isfinite(squared)) return false;
  const double norm = std::sqrt(squared);
  const double scale = options.most_norm > 0 && norm > options.most_norm ? options.most_norm / norm : 1;
  means.resize(parameters.size(), 0.0);
  squares.resize(parameters.size(), 0.0);
  ++steps;
  const double first_bias = 1 - std::pow(options.first, static_cast<double>(steps));
  const double second_bias = 1 - std::pow(options.second, static_cast<double>(steps));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const double g = scale * gradient[i];
    means[i] = options.first * means[i] + (1 - options.first) * g;
    squares[i] = options.second * squares[i] + (1 - options.second) * g * g;
    parameters[i] -=
        options.rate * (means[i] / first_bias) / (std::sqrt(squares[i] / second_bias) + options.epsilon);
  }
  return true;
}

}  // namespace stitch::learn
