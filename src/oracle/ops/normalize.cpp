// Softmax and the norms. Two-pass variances: mean first, then squared differences.
#include <cmath>

#include "oracle/call.h"
#include "oracle/ops/product.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

struct Moments {
  double mean, variance;  // of the population
};

template <class Element>
Moments moments_of(int64_t count, const Element& element) {
  double mean = sum_of(count, element) / static_cast<double>(count);
  auto square = [&](int64_t i) {
    double difference = element(i) - mean;
    return difference * difference;
  };
  return {mean, sum_of(count, square) / static_cast<double>(count)};
}

}  // namespace

Outcome evaluate_softmax(const Call& call) {
  Tensor out = call.result();
  Rows rows = Rows::along(call.in().shape(), call.dimension("dim"));
  const double* x = call.in().data<double>();
  double* y = out.writable<double>();
  bool logarithm = call.op() == Op::log_softmax;
  parallel_for(rows.length() ? rows.count() : 0, rows.grain(), [&](int64_t begin, int64_t end) {
    std::vector<double> space, result(static_cast<size_t>(rows.length()));
    for (int64_t r = begin; r < end; ++r) {
      const double* row = rows.read(x, r, space);
      // Infinities and NaN need no special case: the differences below become NaN as in PyTorch.
      double most = *std::max_element(row, row + rows.length());
      for (size_t i = 0; i < result.size(); ++i) result[i] = std::exp(row[i] - most);
      double sum = sum_of(rows.length(), [&](int64_t i) { return result[static_cast<size_t>(i)]; });
      double log_sum = std::log(sum);
      for (size_t i = 0; i < result.size(); ++i)
        result[i] = logarithm ? row[i] - most - log_sum : result[i] / sum;
      rows.write(result, y, r);
    }
  });
  return one(std::move(out));
}

Outcome evaluate_batch_norm(const Call& call) {
  const Tensor& x = call.in();
  const Attributes& attributes = call.attributes();
  bool training = attributes.flag("training");
  double momentum = attributes.number("momentum"), eps = attributes.number("eps");
  int64_t samples = x.shape()[0], channels = x.shape()[1];
  int64_t plane = element_count({x.shape().begin() + 2, x.shape().end()}), count = samples * plane;
  const double *in = x.data<double>(), *weight = call.numbers(1), *bias = call.numbers(2);
  const double *running_mean = call.numbers(3), *running_var = call.numbers(4);

  std::vector<Tensor> results;
  for (size_t i = 0; i < call.node.results.size(); ++i) results.push_back(call.result(i));
  double* y = results[0].writable<double>();
  bool updates = results.size() == 3;
  double* new_mean = updates ? results[1].writable<double>() : nullptr;
  double* new_var = updates ? results[2].writable<double>() : nullptr;

  parallel_for(channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      Moments moments{};
      if (training) {
        moments = moments_of(count,
                             [&](int64_t i) { return in[((i / plane) * channels + c) * plane + i % plane]; });
      } else {
        moments = {running_mean[c], running_var[c]};
      }
      if (updates) {
        // The running variance is the sample variance, though normalisation uses the population variance.
        double sample_variance =
            moments.variance * static_cast<double>(count) / static_cast<double>(count - 1);
        new_mean[c] = (1 - momentum) * running_mean[c] + momentum * moments.mean;
        new_var[c] = (1 - momentum) * running_var[c] + momentum * sample_variance;
      }
      double scale = (weight ? weight[c] : 1) / std::sqrt(moments.variance + eps);
      double shift = bias ? bias[c] : 0;
      for (int64_t n = 0; n < samples; ++n) {
        int64_t at = (n * channels + c) * plane;
        for (int64_t i = at; i < at + plane; ++i) y[i] = (in[i] - moments.mean) * scale + shift;
      }
    }
  });
  return results;
}

// layer_norm, rms_norm and group_norm: statistics over contiguous runs.
Outcome evaluate_sample_norm(const Call& call) {
  const Tensor& x = call.in();
  const Shape& shape = x.shape();
  double eps = call.attributes().number("eps");
  bool groups = call.op() == Op::group_norm, centred = call.op() != Op::rms_norm;
  // A run has `length` elements; the weight of element i of run r is (r * skip + i) / plane modulo `weights`.
  int64_t length, plane, weights;
  if (groups) {
    plane = element_count({shape.begin() + 2, shape.end()});
    weights = shape[1];
    length = shape[1] / call.attributes().integer("groups") * plane;
  } else {
    plane = 1;
    length = weights = element_count({shape.end() - call.attributes().integer("dims"), shape.end()});
  }
  Tensor out = call.result();
  if (x.elements() == 0) return one(std::move(out));
  const double *in = x.data<double>(), *weight = call.numbers(1), *bias = call.numbers(2);
  double* y = out.writable<double>();
  parallel_for(x.elements() / length, std::max<int64_t>(1, 8192 / length), [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      const double* from = in + run * length;
      Moments moments{};
      if (centred)
        moments = moments_of(length, [=](int64_t i) { return from[i]; });
      else
        moments.variance =
            sum_of(length, [=](int64_t i) { return from[i] * from[i]; }) / static_cast<double>(length);
      double scale = 1 / std::sqrt(moments.variance + eps);
      for (int64_t i = 0; i < length; ++i) {
        int64_t channel = groups ? (run * length + i) / plane % weights : i;
        double value = (from[i] - moments.mean) * scale;
        if (weight) value *= weight[channel];
        if (bias) value += bias[channel];
        y[run * length + i] = value;
      }
    }
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
