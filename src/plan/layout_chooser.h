// One layout for all values at once: convolutions ask for channels last, and what lies between them follows.
#pragma once

#include <map>
#include <set>

#include "plan/technique.h"

namespace stitch::plan {

struct LayoutWish {
  Arithmetic arithmetic = Arithmetic::by_class;  // half, half_exact_bias: values are stored in fp16, too
  std::set<int32_t> convolutions;                // nodes that may multiply so
  // Convolutions that aren't among them are exact, and what they write keeps all its bits.
  bool careful = false;
  std::set<ValueId> full_precision;  // values that keep all their bits, channels last or not
  std::set<int32_t> exact;           // nodes that may be laid out so at FP32's accuracy

  bool half() const { return arithmetic != Arithmetic::by_class; }
};

class LayoutChooser {
 public:
  LayoutChooser(const Context& context, const Plan& plan, const Catalogue& catalogue, LayoutWish wish);

  // Techniques that can't read what lies there, or for which conversions cost more than they gain, make room
  // for others or leave, one round after the other.
  Plan choose();

 private:
  bool loses_bits(const Region& region) const;
  bool stays_exact(const Region& region) const;
  // Who would implement the region channels last: its own technique, or one that it gives way to, and that
  // wasn't refused.
  const Technique* technique_for(size_t r) const;
  Offer offer_for(const Region& region) const;
  bool follows(size_t r) const { return plan_.regions[r].technique->takes_any_order(); }
  // Is the value's place ours to choose, and can everybody beside it take any?
  bool movable(ValueId id) const;
  std::set<ValueId> row_major_values() const;
  std::set<ValueId> reached(const std::set<ValueId>& row_major) const;
  void assign(Plan& plan) const;
  bool keeps_bits(ValueId id) const;
  bool is_rounded_already(ValueId id) const;
  bool only_convolved(ValueId id) const;

  const Context& context_;
  const Graph& graph_;
  const Plan& plan_;
  const Catalogue& catalogue_;
  const LayoutWish wish_;
  std::map<size_t, const Technique*> chosen_;  // regions of convolutions, and who implements them
  std::map<size_t, std::set<const Technique*>> refused_;
  std::set<ValueId> rounded_;  // results in FP32 where PyTorch has TF32
  std::map<ValueId, std::vector<size_t>> readers_;
  std::map<ValueId, size_t> writer_;
  std::set<ValueId> fixed_;  // the caller's, and weights
};

}  // namespace stitch::plan
