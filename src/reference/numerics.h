// Who is right, and by how much: everything is measured against float64, PyTorch too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "graph/numerics.h"
#include "graph/safetensors.h"

namespace stitch::verifier {

using stitch::name;
using stitch::Numerics;

// What may stand where the truth isn't finite. Where inputs have NaN, a number in place of NaN is no mistake:
// CUDA's fmaxf and every comparison lose NaN.
enum class NotFinite : uint8_t {
  as_the_truth,     // the same infinity, a NaN for a NaN
  nan_may_be_lost,  // anything for a NaN
  any,  // and a NaN or the other infinity for an infinity, since sums of them depend on their order
};

// How far values are from the truth.
struct Distance {
  double error = 0;    // ‖x - truth‖
  double truth = 0;    // ‖truth‖
  double largest = 0;  // the largest |x - truth|
  int64_t worst = -1;  // where that is
  int64_t elements = 0;
  int64_t not_finite = 0;  // where truth is finite and x isn't, or they are different infinities
  int64_t unequal = 0;     // integers: how many differ
  int64_t first_bad = -1;  // the first of the not finite or unequal ones
  int64_t nan_lost = 0;    // where truth is NaN and x a number, if that is all the same (NotFinite)
  bool scattered = false;  // the truth itself has NaN or infinities

  double relative() const;  // error / truth; 0 if both are 0
  double rms() const;       // of the truth
  // Of floats: nowhere are both finite, so that there was nothing to compare.
  bool says_nothing() const;
};
// `truth` is f64 for floats, and the integers themselves otherwise. Shapes must agree.
Distance distance(const TensorBytes& values, const TensorBytes& truth,
                  NotFinite rule = NotFinite::as_the_truth);

// An index along a dimension that is small beside the others, and off by more than its own size and PyTorch's
// error there allow. Where sums cancel, rounding of what was added leaves as much.
struct SmallSlice {
  size_t axis = 0;
  int64_t index = 0;
  double error = 0;  // ‖x - truth‖ over it
};

struct Comparison {
  bool passed = false;
  std::string reason;  // why not
  Distance own;
  std::optional<Distance> pytorch;
  double budget = 0;           // on own.relative()
  double largest_allowed = 0;  // on own.largest
  double sensitivity = 0;  // what an input change within rounding does to the truth, relative; 0: not known
  bool by_one_element = false;     // it is only the largest error that is too large
  int64_t at_jumps = 0;            // elements that float64 gives too, a rounding away (discontinuity.h)
  std::vector<SmallSlice> unsure;  // passed if sums cancel there: one draw doesn't tell
};

struct Judging {
  Numerics numerics = Numerics::standard;
  double floor = 1e-5;     // no budget is smaller
  double sensitivity = 0;  // relative; widens the floor where rounding of the inputs already moves the truth
  // PyTorch's own error on this trial is no measure: biases are most of an output, and what comes through the
  // layers has ten bits.
  bool biases_prevail = false;
  double least_truth = 0;  // ‖truth‖ counts as no less: of a mean, what lies around it
  NotFinite not_finite = NotFinite::as_the_truth;
};
// Of running means: a user of them divides what is left by the deviation, so that is their unit. ‖variance‖
// is all that is needed of the variances beside them, if these are of a size.
double least_truth_of_means(const Distance& variances);
// What the relative error may be where PyTorch's own is this: what its class allows.
double relative_budget(double pytorch, double floor);
// From distances alone; integers that are PyTorch's own don't count as unequal any more, nor what isn't
// finite in PyTorch either as not finite.
Comparison conclude(const Distance& own, const std::optional<Distance>& pytorch, const TensorType& type,
                    const Judging& judging);
// `pytorch` in the class's own precision, where there is one; `known`: its distance, where that was taken.
Comparison compare(const TensorBytes& values, const TensorBytes& truth, const TensorBytes* pytorch,
                   const Judging& judging, const Distance* known = nullptr);

// Whether rounding explains what one of `unsure` is off by, if an honest program's values are off by so much
// on another draw of the same kind.
bool is_rounding(const SmallSlice& slice, const TensorBytes& honest, const TensorBytes& truth);
std::string reason_of(const SmallSlice& slice);

// KernelBench's own check, for --compat: |pytorch - value| <= 1e-4 + 1e-4 |value| everywhere (1e-2 in half).
struct KernelBenchCheck {
  bool passed = false;
  double outside = 0;  // the share of elements out of tolerance
};
double kernelbench_tolerance(DType dtype);
inline constexpr int kernelbench_trials = 5;
KernelBenchCheck kernelbench_allclose(const TensorBytes& values, const TensorBytes& pytorch,
                                      double tolerance);

std::vector<double> as_doubles(const TensorBytes& tensor);
// Byte for byte.
bool identical(const TensorBytes& a, const TensorBytes& b);

Json to_json(const Comparison& comparison);

}  // namespace stitch::verifier
