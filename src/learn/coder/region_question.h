// The compact Coder's question: how is this region implemented? One decision among whole choices: a technique
// with an offer and its knobs.
#pragma once

#include <optional>

#include "learn/coder/features.h"
#include "learn/coder/planned_task.h"

namespace stitch::learn {

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
