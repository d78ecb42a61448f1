#include "rubric/reward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stitch::rubric {

namespace {

constexpr double for_a_build = 0.05, for_right_results = 0.25, most_of_the_rule = 2;
// A result that is nearly right, before the rubric: less than a right one that the rubric halves.
constexpr double for_nearly_right = 0.12;
constexpr double for_the_floor = 0.5;  // of the rule, the rest of speed is over the best baseline
constexpr double for_no_change = 0.1;  // a right program handed back as right and as fast
constexpr double fastest = 8;          // speedups beyond it are worth no more
constexpr double paper_fastest = 5, paper_most = 3, paper_for_right_results = 0.3;
constexpr double clearly_faster = 1.05;  // CUDA Agent's milestones

constexpr std::array rewards = {
    RewardInfo{RewardKind::combined, "combined",
               "rule x (1 + L (r - 0.5)); L = 1 from scratch, 0.7 from feedback; r = (total - 4) / 16", 0, 3},
    RewardInfo{RewardKind::paper, "paper",
               "min(3, (min(speedup, 5) + 0.3) x (1 + L (r - 0.5))), 0 if not correct", 0, 3},
    RewardInfo{RewardKind::milestones, "milestones",
               "-1 not correct, 1 correct, 2 over 5 % faster than eager, 3 than eager and torch.compile", -1,
               3},
    RewardInfo{
        RewardKind::rule, "rule",
        "0.05 to 0.12 built, by what is right; 0.25 correct, up to 2 by log(1 + speedup) / log(9) and the "
        "share of the floor; from feedback by what the change gains",
        0, 2},
    RewardInfo{RewardKind::rubric, "rubric", "3 r", 0, 3},
};

// A speedup that can be counted: nothing that isn't a positive number.
std::optional<double> counted(const std::optional<double>& speedup) {
  return speedup && std::isfinite(*speedup) && *speedup > 0 ? speedup : std::nullopt;
}

double quality(const Scores& scores) {
  double total = 0;
  for (const Score& each : scores.dimensions) total += std::clamp(each.score, 1, 5);
  return (total - 4) / 16;
}

std::string label_of(const Execution& run, bool hack) {
  if (hack) return "hack";
  if (run.outcome == Outcome::passed) return counted(run.speedup) ? "correct" : "correct, not timed";
  return std::string(name(run.outcome));
}

double paper_rule(const Execution& run) {
  if (run.outcome != Outcome::passed) return 0;
  return std::min(counted(run.speedup).value_or(0), paper_fastest) + paper_for_right_results;
}

double milestone(const Execution& run) {
  if (run.outcome != Outcome::passed) return -1;
  // Where only the best baseline is known, being faster than it is being faster than all.
  const double best = counted(run.speedup).value_or(0);
  const double eager = counted(run.over_eager).value_or(best),
               compiled = counted(run.over_compiled).value_or(best);
  if (eager <= clearly_faster) return 1;
  return std::min(compiled, eager) > clearly_faster ? 3 : 2;
}

}  // namespace

std::span<const RewardInfo> all_rewards() { return rewards; }

const RewardInfo& info(RewardKind kind) { return rewards[static_cast<size_t>(kind)]; }

Result<RewardKind> parse_reward(std::string_view name) {
  std::vector<std::string> names;
  for (const RewardInfo& each : rewards) {
    if (each.name == name) return each.kind;
    names.emplace_back(each.name);
  }
  return user_error("reward", format("unknown reward '{}'", name), "one of: " + join(names, ", "));
}

double rule_reward(const Execution& run) {
  switch (run.outcome) {
    case Outcome::wrong: {
      const double share = std::isfinite(run.right_share) ? std::clamp(run.right_share, 0.0, 1.0) : 0;
      return for_a_build + (for_nearly_right - for_a_build) * share;
    }
    case Outcome::crashed:
    case Outcome::misbehaved: return for_a_build;
    case Outcome::passed: break;
    default: return 0;
  }
  const double speedup = std::min(counted(run.speedup).value_or(0), fastest);
  const auto seconds = counted(run.seconds), floor = counted(run.floor_seconds);
  const double by_floor = seconds && floor ? for_the_floor : 0,
               by_speedup = most_of_the_rule - for_right_results - by_floor;
  return for_right_results + by_speedup * std::log1p(speedup) / std::log1p(fastest) +
         (by_floor > 0 ? by_floor * std::min(1.0, *floor / *seconds) : 0);
}

double rule_reward(const Execution& run, const Execution& before) {
  const double now = rule_reward(run);
  if (run.outcome != Outcome::passed) return std::max(0.0, now - rule_reward(before));
  if (before.outcome != Outcome::passed) return now;
  // Both are right: what counts is how much faster it became, by whichever was taken on both sides.
  const auto own = counted(run.seconds), old = counted(before.seconds);
  const auto own_speedup = counted(run.speedup), old_speedup = counted(before.speedup);
  const double gain = own && old ? *old / *own : own_speedup && old_speedup ? *own_speedup / *old_speedup : 1;
  if (!(gain > 1)) return for_no_change * std::max(0.0, gain);
  return for_no_change +
         (most_of_the_rule - for_no_change) * std::min(1.0, std::log(gain) / std::log(fastest));
}

double rubric_factor(const Scores& scores, Skill skill) {
  const double weight = skill == Skill::from_scratch ? 1.0 : 0.7;
  return 1 + weight * (quality(scores) - 0.5);
}

Reward reward(RewardKind kind, const Execution& run, const Scores& scores, Skill skill,
              const Execution* before) {
  const bool hack = scores.major_hacking || run.outcome == Outcome::hack;
  Reward out{.label = label_of(run, hack)};
  const bool nothing_known = run.outcome == Outcome::not_judged || run.outcome == Outcome::inconclusive ||
                             (run.outcome == Outcome::not_run && kind != RewardKind::rubric);
  if (hack) {
    out.value = std::min(0.0, info(kind).least);
    out.why = format("a hack gets no reward: {}", scores[Dimension::anti_hacking].reason);
    return out;
  }
  if (nothing_known) {
    out.counted = false;
    out.why = format("{}: not known", name(run.outcome));
    return out;
  }
  if (run.other_on_gpu) {
    out.value = std::min(0.0, info(kind).least);
    out.label = "not judged on a GPU";
    out.why = "what nvcc compiles of it was never run: text under conditions on the compiler";
    return out;
  }
  const auto rule = [&] {
    return skill == Skill::from_feedback && before ? rule_reward(run, *before) : rule_reward(run);
  };
  out.factor = rubric_factor(scores, skill);
  switch (kind) {
    case RewardKind::combined:
      // How well a wrong program is engineered is not asked: none comes near a right one.
      if (run.outcome != Outcome::passed) out.factor = 1;
      out.rule = rule();
      out.value = out.rule * out.factor;
      break;
    case RewardKind::paper:
      out.rule = paper_rule(run);
      out.value = std::min(paper_most, out.rule * out.factor);
      break;
    case RewardKind::milestones:
      out.rule = out.value = milestone(run);
      out.factor = 1;
      break;
    case RewardKind::rule:
      out.rule = out.value = rule();
      out.factor = 1;
      break;
    case RewardKind::rubric: out.value = 3 * quality(scores); break;
  }
  out.value = std::clamp(out.value, info(kind).least, info(kind).most);
  out.why = kind == RewardKind::rubric
                ? format("{} of 20 points", scores.total())
                : format("{} {:.3f}{}", out.label, out.rule,
                         out.factor == 1 ? "" : format(", times {:.3f} by the rubric", out.factor));
  return out;
}

Json to_json(const Reward& reward) {
  return {{"value", reward.value}, {"label", reward.label},          {"counted", reward.counted},
          {"rule", reward.rule},   {"rubric_factor", reward.factor}, {"reason", reward.why}};
}

std::string_view name(HackLabel label) {
  constexpr std::array<std::string_view, 5> names = {"none", "clean", "degenerate", "partial hack",
                                                     "full hack"};
  return names[static_cast<size_t>(label)];
}

Labelled hack_label(const Evidence& evidence) {
  const Execution& run = evidence.run;
  const CodeFacts& code = evidence.code;
  const bool passed = run.outcome == Outcome::passed;
  if (run.outcome == Outcome::hack) return {HackLabel::full_hack, format("{}: {}", run.gate, run.reason)};
  // A gate that saw a wrong result saw what is left when a cheat doesn't work.
  if (const auto major = std::ranges::find(code.signs, Severity::major, &Sign::severity);
      major != code.signs.end())
    return {passed ? HackLabel::partial_hack : HackLabel::full_hack,
            format("{}: it {}", text(major->place), major->what)};
  if (!passed) return {};
  if (code.python && code.kernels_at_work() == 0 && code.libraries.empty())
    return {HackLabel::degenerate, "plain PyTorch calls: no kernel of its own is at work"};
  const std::string share = format("{:.0f} % of PyTorch's device time ({})", 100 * evidence.time_share,
                                   evidence.measured_times ? "measured" : "by the cost model");
  if (!evidence.operators.empty() && evidence.time_share < least_replaced)
    return {HackLabel::degenerate, "replaces " + share};
  return {HackLabel::clean, "replaces " + share};
}

}  // namespace stitch::rubric
