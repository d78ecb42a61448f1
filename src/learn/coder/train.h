// The compact Coder's training: from planned tasks to a policy. Warm-up on the best choices that are known,
// then GRPO on either skill or both.
#pragma once

#include "learn/coder/compare.h"
#include "learn/coder/rewards.h"
#include "learn/grpo/checkpoint.h"

namespace stitch::learn {

// By the task's name and nothing else, so that no run ever trains on another one's test: of ten, eight are
// for training, one for stopping early, one for the end.
enum class Split : uint8_t { train, validation, test };
Split split_of(std::string_view task);
// The same for one of five folds: a fifth is for the end, another tenth for stopping early. Over all folds
// every task is held out once.
inline constexpr int folds = 5;
Split split_of(std::string_view task, int fold);
std::string_view name(Split split);

enum class SkillChoice : uint8_t { from_scratch, from_feedback, both };

struct CoderTrainOptions {
  TrainOptions train{.adam = {.rate = 1e-3}};
  int64_t steps = 300;
  int warm_up = 20;          // passes over the best known choices; 0: none
  int64_t check_every = 10;  // steps between validations and checkpoints
  int patience = 8;          // validations without a better one before it stops; 0: never
  std::vector<int> hidden = {128, 64};
  SkillChoice skill = SkillChoice::both;
  rubric::RewardKind reward = rubric::RewardKind::rule;
};
Json to_json(const CoderTrainOptions& options);

struct CurvePoint {
  TrainStep step;
  std::optional<double> validation;  // geometric mean of the time over the built-in Planner's
};

struct CoderTrainHooks {
  fs::path checkpoint;  // written beside and renamed; empty: none
  std::function<void(const CurvePoint&)> on_step;
  std::function<bool()> should_stop;
};

struct Trained {
  Scorer policy;  // the best by validation
  double validation = 1;
  int64_t steps = 0, best_step = 0;
  std::string ended;  // "every step", "no better for 8 checks", "stopped"
};

// Goes on from hooks.checkpoint where one is. An error if there is nothing to learn from.
Result<Trained> train_coder(const std::vector<RegionProblem>& train,
                            const std::vector<RegionProblem>& validation, Times& times,
                            const CoderTrainOptions& options, const CoderTrainHooks& hooks);

// Of the decision that a policy is asked for: the mean time over the built-in Planner's.
double validate(const Scorer& policy, const std::vector<RegionProblem>& problems, Times& times);

}  // namespace stitch::learn
