// Which convolutions may lose bits: those that lose them in PyTorch, too. The class is a budget that
// PyTorch's own error sets, and fp16 has the ten bits of mantissa that TF32 has.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "graph/graph.h"
#include "graph/numerics.h"
#include "plan/measured_errors.h"

namespace stitch::plan {

// What PyTorch was seen to do with this graph.
struct ReferenceFacts {
  std::map<int32_t, bool> tf32;                  // convolutions by node: TF32, or not
  std::shared_ptr<const MeasuredErrors> errors;  // null: nobody measured what rounding does
  // Results shall be PyTorch's own as nearly as can be: ten bits exactly where it has ten bits.
  bool as_pytorch = false;
};

// PyTorch rounds operands of these convolutions to the same ten bits as we do, so together they can't add
// more than its own error, whatever independent roundings would: weights are rounded once, and what a mean
// over an image shows of that is chance, the same for both.
MeasuredErrors held_to_pytorch(MeasuredErrors errors, const Graph& graph,
                               const std::map<int32_t, bool>& tf32);

class Rounding {
 public:
  Rounding(const Graph& graph, Numerics numerics, const ReferenceFacts& torch);

  // Does PyTorch multiply in TF32 here, if it may? As it was seen, or by a guess.
  bool is_tf32_in_pytorch(int32_t convolution) const { return tf32_.contains(convolution); }
  // PyTorch doesn't use TF32 there, and everybody can see it: the statistics of the batch norm behind it are
  // results, or the error would be over the budget.
  bool must_be_exact(int32_t convolution) const { return exact_.contains(convolution); }
  // Convolutions that PyTorch does in TF32. Of the others, where errors were measured, those for which the
  // budget has room; else any before or behind such a one, whose error is in the result already. None in
  // class strict, all in class half.
  bool may_lose_bits(int32_t convolution) const { return ten_bits_.contains(convolution); }

  const std::set<int32_t>& tf32_in_pytorch() const { return tf32_; }
  const std::set<int32_t>& ten_bit_convolutions() const { return ten_bits_; }
  // PyTorch may use TF32 in convolutions, and decides for itself where it does.
  bool follows_pytorch() const { return follows_pytorch_; }

 private:
  void spend(const Graph& graph, const MeasuredErrors& errors, const std::set<int32_t>& convolutions);

  std::set<int32_t> tf32_, exact_, ten_bits_;
  bool follows_pytorch_;
};

bool is_convolution(Op op);
// Of the weight: taps of a filter, and channels that one sum goes over.
int64_t filter_taps(const Graph& graph, const Node& convolution);
int64_t channels_per_group(const Graph& graph, const Node& convolution);

}  // namespace stitch::plan
