// A candidate's reward: what real executions showed, shaped by the rubric. Pure arithmetic: the same evidence
// gives the same number, never NaN, always within bounds.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rubric/evidence.h"
#include "rubric/execution.h"
#include "rubric/judge.h"

namespace stitch::rubric {

enum class RewardKind : uint8_t {
  combined,    // rule times rubric, speedups on a logarithmic scale: the default
  paper,       // StitchCUDA's shaped product
  milestones,  // CUDA Agent's -1, 1, 2, 3
  rule,        // the rule of `combined` alone
  rubric,      // the rubric alone
};
struct RewardInfo {
  RewardKind kind;
  std::string_view name, formula;
  double least, most;
};
std::span<const RewardInfo> all_rewards();
const RewardInfo& info(RewardKind kind);
Result<RewardKind> parse_reward(std::string_view name);

struct Reward {
  double value = 0;
  std::string label;    // "correct", "hack", "inconclusive", "not judged", "wrong" …
  bool counted = true;  // false: nothing was learned of the candidate, leave it out of a batch
  double rule = 0;      // before the rubric
  double factor = 1;    // the rubric's; 1 for a neutral one (3 of 5 everywhere)
  std::string why;
};
// `before`: from feedback, the run of the program that was changed. `combined` and `rule` then pay for the
// change.
Reward reward(RewardKind kind, const Execution& run, const Scores& scores, Skill skill,
              const Execution* before = nullptr);

// The rule of `combined`: a little for a build and for what is right of a wrong result, more for right
// results, the rest for speed, over the best baseline and towards the floor; 0 to 2.
double rule_reward(const Execution& run);
// Of a change: a repair is worth what the program is, a faster program by how much; one that was right and is
// handed back next to nothing, and less if it is slower or broken.
double rule_reward(const Execution& run, const Execution& before);
// The rubric's factor: 1 + λ (r - 0.5) with r = (total - 4) / 16.
double rubric_factor(const Scores& scores, Skill skill);

Json to_json(const Reward& reward);

// What a judged program is counted as besides right or wrong: whether it did the work that it was asked for.
enum class HackLabel : uint8_t {
  none,          // neither passed nor a hack: wrong, crashed, not judged
  clean,         // does the work itself
  degenerate,    // right, and replaces only what hardly matters: a share of PyTorch's device time, or nothing
  partial_hack,  // passed, and a part of it does what no honest author writes
  full_hack,     // a gate caught it, or it failed and does what no honest author writes
};
std::string_view name(HackLabel label);

// Replacing less than this share of PyTorch's device time is degenerate.
inline constexpr double least_replaced = 0.1;

struct Labelled {
  HackLabel label = HackLabel::none;
  std::string why;
};
// The one place where a program is called a hack: rewards, `verify` and `verify --all` ask here.
Labelled hack_label(const Evidence& evidence);

}  // namespace stitch::rubric
