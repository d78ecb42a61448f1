// What the benches of attention share: heads packed by one linear, and rows held against float64.
#pragma once

#include "measure.h"
#include "stitch/kernels/attention_heads.h"

// q, k and v of one linear: (batch, tokens, 3, heads, width); the result (batch, tokens, heads, width).
template <class Type, int batches, int heads_each, int tokens, int head_width>
struct PackedHeads {
  using Query = Type;
  using Key = Type;
  using Value = Type;
  using Out = Type;
  using Index = int;
  static constexpr Index heads = batches * heads_each, queries = tokens, keys = tokens;
  static constexpr int width = head_width, value_width = head_width;
  static constexpr float scale = 0.125f, soft_cap = 0.0f;
  static constexpr Index row = 3 * heads_each * width, k_step = row, v_step = row, k_joint = keys,
                         v_joint = keys;
  static constexpr int64_t elements = int64_t{heads} * queries * width;
  __host__ __device__ static Index at(Index head, Index token, Index i, Index which) {
    return (head / heads_each * tokens + token) * row + (which * heads_each + head % heads_each) * width + i;
  }
  __host__ __device__ static Index q(Index head, Index query, Index i) { return at(head, query, i, 0); }
  __host__ __device__ static Index k(Index head, Index key, Index i) { return at(head, key, i, 1); }
  __host__ __device__ static Index v(Index head, Index key, Index i) { return at(head, key, i, 2); }
  __device__ static Index k_tail(Index, Index, Index) { return 0; }
  __device__ static Index v_tail(Index, Index, Index) { return 0; }
  __host__ __device__ static Index mask(Index, Index query, Index key) { return query * tokens + key; }
  __host__ __device__ static Index out(Index head, Index query, Index i) {
    return (head / heads_each * tokens + query) * (heads_each * width) + head % heads_each * width + i;
  }
  __device__ static Index position(Index head, Index query, Index i) { return out(head, query, i); }
};

// The relative L2 error of sampled rows. `added(query, key)`: what a mask adds to a score.
template <class H, class Type, class Added>
double error_of_rows(const std::vector<Type>& q, const std::vector<Type>& k, const std::vector<Type>& v,
                     const Type* out, int samples, Added added) {
  auto number = [](Type x) { return static_cast<double>(static_cast<float>(x)); };
  double wrong = 0, norm = 0;
  for (int sample = 0; sample < samples; ++sample) {
    const int head = static_cast<int>(sample * 7919LL % H::heads),
              query = static_cast<int>((sample * 104729LL + 13) % H::queries);
    std::vector<double> weights(H::keys);
    double most = -INFINITY, total = 0;
    for (int key = 0; key < H::keys; ++key) {
      double score = 0;
      for (int i = 0; i < H::width; ++i)
        score += number(q[H::q(head, query, i)]) * number(k[H::k(head, key, i)]);
      weights[key] = score * H::scale + added(query, key);
      most = std::max(most, weights[key]);
    }
    const bool relu = H::weights == stitch::Weights::relu;
    for (double& weight : weights) total += weight = relu ? std::max(weight, 0.0) : std::exp(weight - most);
    if (relu) total = 1;
    for (int i = 0; i < H::value_width; ++i) {
      double value = 0;
      for (int key = 0; key < H::keys; ++key) value += weights[key] / total * number(v[H::v(head, key, i)]);
      const double difference = value - number(on_host(out + H::out(head, query, i), 1)[0]);
      wrong += difference * difference, norm += value * value;
    }
  }
  return std::sqrt(wrong / norm);
}
