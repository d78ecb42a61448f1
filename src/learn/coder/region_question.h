// The compact Coder's question: how is this region implemented? The first decision is the way, each other one
// a knob of its technique.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "learn/coder/features.h"
#include "learn/coder/planned_task.h"
#include "learn/grpo/question.h"

namespace stitch::learn {

// What a choice takes, by whoever knows.
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

// The reward of a choice, given what it takes and what the built-in Planner's own choice takes.
using RewardOf = std::function<double(const RegionProblem&, const plan::Region& chosen, const Timed& timed,
                                      const Timed& built_in)>;

class RegionQuestion final : public Question {
 public:
  RegionQuestion(RegionProblem problem, Times& times, RewardOf reward,
                 std::optional<Feedback> feedback = std::nullopt);

  std::vector<float> options(std::span<const int> chosen) override;
  double reward(std::span<const int> chosen) override;

  const RegionProblem& problem() const { return problem_; }
  // The region as chosen.
  plan::Region region_of(std::span<const int> chosen);
  // The decisions that lead to this implementation; nothing: there is no way to it.
  std::optional<std::vector<int>> decisions_to(const plan::Region& region);
  // Every answer, at most so many: for tables and tests.
  std::vector<std::vector<int>> all_answers(size_t most);
  Timed time_of(const plan::Region& region) { return times_.of(problem_, region); }

 private:
  struct Node {
    plan::Region region;             // as chosen so far
    size_t knob = 0;                 // the next one of the technique's; behind the last: the answer is whole
    std::vector<plan::Region> next;  // after each option
    std::vector<float> rows;
  };
  const Node& node(std::span<const int> chosen);
  Node first() const;
  Node after(const Node& before, int option) const;
  void open(Node& node) const;
  void keep_known(Node& node) const;

  RegionProblem problem_;
  Times& times_;
  RewardOf reward_;
  std::optional<Feedback> feedback_;
  RegionFeatures features_;
  const std::vector<std::string>* known_;
  std::map<std::vector<int>, Node> nodes_;
  std::map<std::vector<int>, double> rewards_;
  std::optional<Timed> built_in_;
};

}  // namespace stitch::learn
