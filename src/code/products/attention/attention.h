// Shared by all attention techniques: weights(q kᵀ · scale + mask) v. Scores may be capped before masking:
// cap · tanh(score / cap).
#pragma once

#include <array>
#include <optional>
#include <span>

#include "code/products/epilogue.h"
#include "code/products/view.h"

namespace stitch::code {

inline constexpr std::array attention_ops = {Op::attention};

struct Attention {
  const Node* node = nullptr;
  Indexed q, k, v;                        // at head, query or key, i
  std::optional<Indexed> k_tail, v_tail;  // later keys in another tensor, indexed from its first,
  int64_t k_joint = 0, v_joint = 0;       // which is this key; `keys`: all in one tensor
  std::optional<Indexed> mask;            // at head, query, key
  ResultPlace result;                     // (batch…, heads, queries, value width)
  Index out;                              // where the result's element at head, query, i lies
  Index position;                         // its row-major position
  Shape batch;                            // q's dimensions before the last two
  int64_t heads = 1;                      // their product
  int64_t share = 1;                      // query heads per key head
  int64_t queries = 0, keys = 0, width = 0, value_width = 0;
  bool causal = false;
  double scale = 1, soft_cap = 0;  // 0: scores are not capped
  std::string weights;             // softmax, safe_softmax, relu
};

Result<Attention> attention_of(const RegionRequest& request, const Parts& parts);
// As it is where tiles are chosen (RegionRequest::deciding).
Result<Attention> deciding_attention(const RegionRequest& request, std::span<const Op> ops,
                                     bool takes_tails = false);
bool keys_vary(const RegionRequest& request, const Attention& attention);
// For `accepts`: a cache and the tensor appended to it have one type.
Result<void> accepts_tails(const plan::Region& region, const Attention& attention);
// The number of adjacent heads of q that read the same k and v, by the node or through a view.
int64_t heads_that_share(const RegionRequest& request, const Attention& attention);
// How many blocks should share the keys of each of `tiles` tiles of queries, if `resident` blocks run at once
// and all keys are `rounds` rounds: whole waves, so that blocks end together.
int64_t even_splits(int64_t tiles, int64_t resident, int64_t rounds);
// o (2, 4, 9, 8) = softmax(q (2, 4, 9, 16) · k (2, 4, 7, 16)ᵀ · 0.25 + mask) · v (…), causal
std::string describe(const Attention& attention);

// The struct for flash attention kernels (kernels/attention_heads.h); `more` is appended. `takes_tails`: also
// for keys in another tensor.
std::string heads_struct(const Attention& attention, const std::string& name, const std::string& more,
                         bool takes_tails = false);
// Whether every `count` elements along `variable` are contiguous and aligned to `count`.
bool lies_in_runs(const Index& index, const char* variable, int64_t extent, int64_t count);
// The whole region around such a kernel: `enqueue` is called with pointers, mask and epilogue, with `partial`
// floats of workspace (none: nullptr), and after the stream with the tails, if any.
Result<RegionCode> write_heads(const RegionRequest& request, const Attention& attention, const Parts& parts,
                               std::string_view header, std::string_view enqueue, std::string_view idea,
                               const std::string& more, std::optional<int64_t> partial = std::nullopt,
                               bool takes_tails = false);

}  // namespace stitch::code
