// What all techniques for attention need to know of it: softmax(q kᵀ · scale + mask) v.
#pragma once

#include "code/products/parts.h"

namespace stitch::code {

struct Attention {
  View q, k, v;  // (batch…, key heads, share, queries, width), the others (batch…, key heads, keys, width)
  std::optional<View> mask;  // under the scores' shape (batch…, heads, queries, keys)
  ResultPlace result;        // (batch…, heads, queries, value width)
  View out;                  // the same with its heads split as q's are
  Shape batch;               // dimensions before the last two, as q has them
  int64_t heads = 1;         // their product
  int64_t share = 1;         // query heads a key head serves
  int64_t queries = 0, keys = 0, width = 0, value_width = 0;
  bool causal = false;
  double scale = 1;
};

Result<Attention> attention_of(const RegionRequest& request, const Parts& parts);
// o (2, 4, 9, 8) = softmax(q (2, 4, 9, 16) kᵀ (2, 4, 7, 16) · 0.25 + mask) v (…), causal
std::string describe(const Attention& attention);

// A functor on one score at its row-major position: scale, the causal triangle, the mask. `small`: int
// reaches.
std::string score_functor(const Attention& attention, const std::string& type, const std::string& number,
                          bool small);

}  // namespace stitch::code
