// The compact Coder's training: from planned tasks to a committee of small networks. Each learns from two
// thirds of the tasks: by what choices are known to take (the warm-up), then by GRPO on either skill or both.
// How careful they have to be is seen on the tasks that they didn't learn from.
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
  TrainOptions train{.adam = {.rate = 3e-3}};
  int members = 6;
  int64_t steps = 40;        // of GRPO, a member
  int warm_up = 60;          // passes over what choices are known to take; 0: none
  int64_t check_every = 10;  // steps between validations and checkpoints
  int patience = 2;          // validations without a better one before a member stops; 0: never
  std::vector<int> hidden = {24, 12};
  size_t known_after = 4;  // training regions that a way has to be known of
  SkillChoice skill = SkillChoice::both;
  rubric::RewardKind reward = rubric::RewardKind::rule;
};
Json to_json(const CoderTrainOptions& options);

struct CurvePoint {
  int member = 0;
  TrainStep step;                    // numbered over all members
  std::optional<double> validation;  // geometric mean of the time over the built-in Planner's
};

struct CoderTrainHooks {
  // One a member, ".0" and so on behind the name; written beside and renamed. Empty: none.
  fs::path checkpoint;
  std::function<void(const CurvePoint&)> on_step;
  std::function<bool()> should_stop;
};
fs::path checkpoint_of(const fs::path& checkpoint, int member);
// That the checkpoints know of; 0 where there are none.
Result<int64_t> steps_in(const fs::path& checkpoint);

struct Trained {
  Committee committee;    // each member as its validation was best
  double validation = 1;  // of the whole
  // What the committee's choices took on training tasks by members that hadn't seen them, over the built-in
  // Planner's, and how many regions that was.
  double out_of_sample = 1;
  int out_of_sample_regions = 0;
  int64_t steps = 0;
  std::string ended;  // "every step", "stopped"
};

// Goes on from hooks.checkpoint where one is. An error if there is nothing to learn from.
Result<Trained> train_coder(const std::vector<RegionProblem>& train,
                            const std::vector<RegionProblem>& validation, Times& times,
                            const CoderTrainOptions& options, const CoderTrainHooks& hooks);

// The mean time of its choices over the built-in Planner's.
double validate(const Committee& committee, const std::vector<RegionProblem>& problems, Times& times);

}  // namespace stitch::learn
