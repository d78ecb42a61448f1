// Where rewrites (passes/) that are right everywhere also pay: from the Planner, which knows the GPU and asks
// techniques for their limits (plan/rewrites.h).
#pragma once

#include <cstdint>
#include <limits>

namespace stitch {

// By default of no GPU: attention of any size is one node, and nothing else is rewritten.
struct RewriteLimits {
  static constexpr int64_t any = std::numeric_limits<int64_t>::max();

  // Features of the widest heads that a fused kernel takes: in FP32, in 16 bits, and of at most
  // `few_queries`.
  int64_t head = any, head_of_halves = any;
  int64_t few_queries = 0, head_of_few = any;
  // FP32 attention with at least so many features, queries and keys is two products, up to so many keys for
  // each feature.
  int64_t multiplied_head = any, multiplied_tokens = 0, keys_of_feature = 0;
  // Convolutions of at most so many channels are joined, small filters padded with zeros.
  int64_t joined_channels = 0;
  // Convolutions of at most so many channels, and patches of at least so many numbers, multiply patches.
  int64_t patch_channels = 0, long_patch = 0;
  // 16-bit products of fewer operations are merged.
  double merged_operations = 0;
  // Images of more bytes that several convolutions read are copied.
  double cached_bytes = std::numeric_limits<double>::infinity();
  // Tables of at most so many elements are computed when the model is imported.
  int64_t folded_elements = 1 << 16;

  // For a program of many sizes: a table as long as an input, and a rewrite that pays at some of them, would
  // make another graph of each.
  RewriteLimits of_any_size(int64_t folded) const {
    return {.head = head, .head_of_halves = head_of_halves, .few_queries = 0, .folded_elements = folded};
  }
};

}  // namespace stitch
