// weights(cap(q k^T * scale) + mask) v, for one head and a block of its queries at a time.
#include <cmath>
#include <limits>

#include "base/machine/parallel.h"
#include "oracle/blas.h"
#include "oracle/call.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Applies the mask to row `query` of a head's scores.
struct Mask {
  const Tensor* tensor = nullptr;
  Shape batch;                   // of the scores, without their last two dimensions
  std::vector<int64_t> strides;  // under the scores' shape

  Mask(const Tensor* mask, const Shape& scores) : tensor(mask), batch(scores.begin(), scores.end() - 2) {
    if (mask) strides = broadcast_strides(mask->shape(), scores);
  }

  void apply(int64_t head, int64_t query, double* row, int64_t keys) const {
    if (!tensor) return;
    int64_t start = query * strides[batch.size()], step = strides[batch.size() + 1];
    for (size_t d = batch.size(); d-- > 0; head /= batch[d]) start += head % batch[d] * strides[d];
    if (tensor->floating()) {
      const double* mask = tensor->data<double>() + start;
      for (int64_t i = 0; i < keys; ++i) row[i] += mask[i * step];
    } else {
      const int64_t* mask = tensor->data<int64_t>() + start;
      for (int64_t i = 0; i < keys; ++i)
        if (!mask[i * step]) row[i] = -infinity;  // even if the score is NaN: kernels needn't compute it
    }
  }
};

// `safe`: a fully masked row becomes zeros, as in PyTorch's _safe_softmax, not NaN.
void softmax(double* row, int64_t count, bool safe) {
  double most = -infinity, sum = 0;
  for (int64_t i = 0; i < count; ++i)
    if (!(row[i] <= most)) most = row[i];
  if (safe && most == -infinity) return std::fill(row, row + count, 0.0);
  for (int64_t i = 0; i < count; ++i) sum += row[i] = std::exp(row[i] - most);
  for (int64_t i = 0; i < count; ++i) row[i] /= sum;
}

void relu(double* row, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (row[i] < 0) row[i] = 0;  // NaN stays
}

}  // namespace

Outcome evaluate_attention(const Call& call) {
  const Tensor &q = call.in(0), &k = call.in(1), &v = call.in(2);
  Tensor out = call.result();
  size_t batch = q.shape().size() - 2;
  int64_t queries = q.shape()[batch], keys = k.shape()[batch];
  int64_t width = q.shape()[batch + 1], value_width = v.shape()[batch + 1];
  Shape scores_shape(q.shape().begin(), q.shape().end() - 1);
  scores_shape.push_back(keys);
  Mask mask(call.has(3) ? &call.in(3) : nullptr, scores_shape);
  bool causal = call.attributes().flag("causal");
  const std::string& weights = call.attributes().text("weights");
  double scale = call.attributes().number("scale"), cap = call.attributes().number("soft_cap");
  int64_t heads = element_count({q.shape().begin(), q.shape().end() - 2});
  // Query heads per key head.
  int64_t share = batch && k.shape()[batch - 1] ? q.shape()[batch - 1] / k.shape()[batch - 1] : 1;
  if (out.elements() == 0) return one(std::move(out));

  int64_t run = std::clamp<int64_t>(workspace_elements() / std::max<int64_t>(keys, 1), 1, queries);
  int64_t runs = (queries + run - 1) / run;
  const double *q_data = q.data<double>(), *k_data = k.data<double>(), *v_data = v.data<double>();
  double* y = out.writable<double>();
  OneThread one_thread;
  parallel_for(heads * runs, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> scores(static_cast<size_t>(run * keys));
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t head = piece / runs, first = piece % runs * run, count = std::min(run, queries - first);
      int64_t key_head = head / share;
      Gemm products{.m = count, .n = keys, .k = width, .transpose_b = true};
      products.stride_a = products.stride_b = width;
      products.stride_c = keys;
      products.alpha = scale;
      gemm(products, q_data + (head * queries + first) * width, k_data + key_head * keys * width,
           scores.data());
      for (int64_t i = 0; i < count; ++i) {
        double* row = scores.data() + i * keys;
        if (cap != 0)
          for (int64_t j = 0; j < keys; ++j) row[j] = cap * std::tanh(row[j] / cap);
        if (causal)
          for (int64_t j = first + i + 1; j < keys; ++j) row[j] = -infinity;
        mask.apply(head, first + i, row, keys);
        if (weights == "relu")
          relu(row, keys);
        else
          softmax(row, keys, weights == "safe_softmax");
      }
      Gemm mix{.m = count, .n = value_width, .k = keys};
      mix.stride_a = keys;
      mix.stride_b = mix.stride_c = value_width;
      gemm(mix, scores.data(), v_data + key_head * keys * value_width,
           y + (head * queries + first) * value_width);
    }
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
