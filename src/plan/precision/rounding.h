// Which convolutions may use reduced precision: those that PyTorch computes in TF32. The class's budget comes
// from PyTorch's own error, and fp16 has the same ten mantissa bits as TF32.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "graph/graph.h"
#include "graph/numerics.h"
#include "plan/precision/measured_errors.h"

namespace stitch::plan {

// What PyTorch was observed to do on this graph.
struct ReferenceFacts {
  std::map<int32_t, bool> tf32;                  // convolutions by node: TF32, or not
  std::shared_ptr<const MeasuredErrors> errors;  // null: not measured
  // Match PyTorch's results as closely as possible: ten mantissa bits exactly where PyTorch has ten.
  bool as_pytorch = false;
};

// PyTorch rounds the operands of these convolutions to the same ten bits, so together they add at most its
// own error, even where independent roundings would add more: weights are rounded once, with the same effect
// on both.
MeasuredErrors held_to_pytorch(MeasuredErrors errors, const Graph& graph,
                               const std::map<int32_t, bool>& tf32);

class Rounding {
 public:
  Rounding(const Graph& graph, Numerics numerics, const ReferenceFacts& torch);

  // Does PyTorch multiply in TF32 here, if allowed? Observed, or guessed.
  bool is_tf32_in_pytorch(int32_t convolution) const { return tf32_.contains(convolution); }
  // PyTorch doesn't use TF32 there and the difference is visible: the statistics of the batch norm after it
  // are results, or the error would exceed the budget.
  bool must_be_exact(int32_t convolution) const { return exact_.contains(convolution); }
  // Convolutions that PyTorch computes in TF32. Of the others, with measured errors, those that fit the
  // budget; without, any before or after one of them, since its error is in the result already. None in class
  // strict, all in class half.
  bool may_lose_bits(int32_t convolution) const { return ten_bits_.contains(convolution); }

  const std::set<int32_t>& tf32_in_pytorch() const { return tf32_; }
  const std::set<int32_t>& ten_bit_convolutions() const { return ten_bits_; }
  // PyTorch is allowed TF32 in convolutions and chooses where to use it.
  bool follows_pytorch() const { return follows_pytorch_; }

 private:
  void spend(const Graph& graph, const MeasuredErrors& errors, const std::set<int32_t>& convolutions);

  std::set<int32_t> tf32_, exact_, ten_bits_;
  bool follows_pytorch_;
};

bool is_convolution(Op op);
// From the weight's shape: taps per filter, and input channels per group.
int64_t filter_taps(const Graph& graph, const Node& convolution);
int64_t channels_per_group(const Graph& graph, const Node& convolution);

}  // namespace stitch::plan
