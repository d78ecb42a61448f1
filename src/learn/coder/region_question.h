// The compact Coder's question: how is this region implemented? One decision among whole choices: a technique
// with an offer and its knobs.
#pragma once

#include <optional>
#include <vector>

#include "learn/coder/choices.h"
#include "plan/cost/estimate.h"

namespace stitch::learn {

// The compact Coder's features: a region on a GPU and one choice compared with the built-in one, as numbers
// of order one. Names are hashed into buckets, so a new technique or knob changes no network.

// Incremented when a feature changes: weights store the version they were trained with.
inline constexpr int feature_version = 2;
int feature_count();

class RegionFeatures {
 public:
  RegionFeatures(const plan::Context& context, const plan::Plan& plan, size_t region);

  // `chosen`: the region with a technique, an offer and knobs.
  std::vector<float> of_choice(const plan::Region& chosen) const;

 private:
  const plan::Context& context_;
  const plan::Plan& plan_;
  const plan::Region& region_;
  plan::RegionEstimate estimate_;  // of the built-in choice
  std::vector<float> shared_;      // the region's part of every row
};

// The time of a choice, from the cost model or measurements.
struct Timed {
  enum class Kind : uint8_t { timed, failed, unknown } kind = Kind::unknown;  // failed: refused or wrong
  double seconds = 0;
  bool by_events = false;  // no profiler could tell: gaps between kernels are in it
};
class Times {
 public:
  virtual ~Times() = default;
  virtual Timed of(const RegionProblem& problem, const plan::Region& chosen) = 0;
  // The only choices that it knows of, as choice_text has them; null: any.
  virtual const std::vector<std::string>* known(const RegionProblem&) { return nullptr; }
};

// By the cost model.
class EstimatedTimes final : public Times {
 public:
  Timed of(const RegionProblem& problem, const plan::Region& chosen) override;
};

class RegionQuestion {
 public:
  RegionQuestion(RegionProblem problem, Times& times);

  const std::vector<float>& features();  // (choices, feature_count())
  // The built-in one is the first. None: nothing can be chosen.
  const std::vector<plan::Region>& choices() const { return choices_; }
  const Timed& time_of(size_t choice);

 private:
  RegionProblem problem_;
  Times& times_;
  std::vector<plan::Region> choices_;
  std::vector<float> rows_;
  std::vector<std::optional<Timed>> timed_;
};

}  // namespace stitch::learn
