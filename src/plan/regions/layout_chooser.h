// Chooses the layout of all values at once: convolutions prefer channels last, and the values between them
// follow.
#pragma once

#include <map>
#include <set>

#include "plan/technique.h"

namespace stitch::plan {

struct LayoutWish {
  Arithmetic arithmetic = Arithmetic::by_class;  // half, half_exact_bias: values are stored in fp16 too
  std::set<int32_t> convolutions;                // nodes that may use this arithmetic
  // Other convolutions are exact, and their results are stored in full precision.
  bool careful = false;
  std::set<ValueId> full_precision;  // values stored in full precision in any layout
  std::set<int32_t> exact;           // nodes that may use this layout at FP32's accuracy

  bool half() const { return arithmetic != Arithmetic::by_class; }
};

class LayoutChooser {
 public:
  LayoutChooser(const Context& context, const Plan& plan, const Catalogue& catalogue, LayoutWish wish);

  // Iterates: techniques that can't read the assigned layouts, or whose conversions cost more than they gain,
  // are replaced or dropped.
  Plan choose();

 private:
  bool loses_bits(const Region& region) const;
  bool stays_exact(const Region& region) const;
  // The technique that would implement the region channels last: its own, or one it gives way to and that
  // wasn't refused.
  const Technique* technique_for(size_t r) const;
  Offer offer_for(const Region& region) const;
  bool follows(size_t r) const { return plan_.regions[r].technique->takes_any_order(); }
  // May the value's layout be chosen freely, and do all its readers and writers accept any order?
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
  std::map<size_t, const Technique*> chosen_;  // regions with convolutions, and their techniques
  std::map<size_t, std::set<const Technique*>> refused_;
  std::set<ValueId> rounded_;  // results in FP32 where PyTorch has TF32
  std::map<ValueId, std::vector<size_t>> readers_;
  std::map<ValueId, size_t> writer_;
  std::set<ValueId> fixed_;  // inputs, outputs and weights
};

}  // namespace stitch::plan
