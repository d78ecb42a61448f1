// The compact Coder's training: from planned tasks to a committee of small networks. Each learns from two
// thirds of the tasks: by what choices are known to take (the warm-up), then by GRPO on either skill or both.
// The caution is fitted on tasks that a network wasn't trained on.
#pragma once

#include "learn/coder/compare.h"
#include "learn/coder/rewards.h"
#include "learn/grpo/checkpoint.h"

namespace stitch::learn {

// By the task's name only, so that no run trains on another run's test set: 8/10 for training, 1/10 for early
// stopping, 1/10 for testing.
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
  int64_t steps = 40;        // of GRPO, per network
  int warm_up = 60;          // supervised epochs; 0: none
  int64_t check_every = 10;  // steps between validations and checkpoints
  int patience = 2;          // validations without improvement before a network stops; 0: never
  std::vector<int> hidden = {24, 12};
  size_t known_after = 4;  // minimum number of training regions with a way
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

// Resumes from hooks.checkpoint if it exists. An error if there is nothing to train on.
Result<Trained> train_coder(const std::vector<RegionProblem>& train,
                            const std::vector<RegionProblem>& validation, Times& times,
                            const CoderTrainOptions& options, const CoderTrainHooks& hooks);

// The mean time of its choices over the built-in Planner's.
double validate(const Committee& committee, const std::vector<RegionProblem>& problems, Times& times);

}  // namespace stitch::learn
