// What all techniques for attention need to know of it: weights(q kᵀ · scale + mask) v.
// Scores may be capped before they are masked: cap · tanh(score / cap).
#pragma once

#include <array>
#include <optional>

#include "code/products/epilogue.h"
#include "code/products/indexed.h"

namespace stitch::code {

inline constexpr std::array attention_ops = {Op::attention};

struct Attention {
  const Node* node = nullptr;
  Indexed q, k, v;                        // at head, query or key, i
  std::optional<Indexed> k_tail, v_tail;  // later keys, where they lie elsewhere, counted from their first,
  int64_t k_joint = 0, v_joint = 0;       // which is here; `keys`, if all lie together
  std::optional<Indexed> mask;            // at head, query, key
  ResultPlace result;                     // (batch…, heads, queries, value width)
  Index out;                              // where the result's element at head, query, i lies
  Index position;                         // its row-major position
  Shape batch;                            // dimensions before the last two, as q has them
  int64_t heads = 1;                      // their product
  int64_t share = 1;                      // query heads a key head serves
  int64_t queries = 0, keys = 0, width = 0, value_width = 0;
  bool causal = false;
  double scale = 1, soft_cap = 0;  // 0: scores are not capped
  std::string weights;             // softmax, safe_softmax, relu
};

Result<Attention> attention_of(const RegionRequest& request, const Parts& parts);
// For `accepts`: a cache and what is appended to it are of one type.
Result<void> accepts_tails(const plan::Region& region, const Attention& attention);
// As many neighbouring heads of q as read the same k and v, whether the node or a view says so.
int64_t heads_that_share(const RegionRequest& request, const Attention& attention);
// How many blocks should share the keys of each of `tiles` tiles of queries, where `resident` blocks run at
// once and all keys are `rounds` rounds: whole waves, so that blocks end together.
int64_t even_splits(int64_t tiles, int64_t resident, int64_t rounds);
// o (2, 4, 9, 8) = softmax(q (2, 4, 9, 16) · k (2, 4, 7, 16)ᵀ · 0.25 + mask) · v (…), causal
std::string describe(const Attention& attention);

// The struct that kernels without scores in memory take (kernels/attention_heads.h); `more` goes into it.
// `takes_tails`: and where later keys lie elsewhere.
std::string heads_struct(const Attention& attention, const std::string& name, const std::string& more,
                         bool takes_tails = false);
// Every `count` neighbours along `variable` lie side by side, the first at a multiple of `count`.
bool lies_in_runs(const Index& index, const char* variable, int64_t extent, int64_t count);
// The whole region around a kernel of that kind: `enqueue` is called with pointers, mask and epilogue, and,
// where `partial` says how many, floats of workspace (none: nullptr), and behind the stream the tails, if
// any.
Result<RegionCode> write_heads(const RegionRequest& request, const Attention& attention, const Parts& parts,
                               std::string_view header, std::string_view enqueue, std::string_view idea,
                               const std::string& more, std::optional<int64_t> partial = std::nullopt,
                               bool takes_tails = false);

}  // namespace stitch::code
