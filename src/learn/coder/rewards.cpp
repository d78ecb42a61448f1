#include "learn/coder/rewards.h"

#include <cmath>
#include <limits>

#include "code/write_program.h"
#include "learn/coder/alone.h"

namespace stitch::learn {

namespace {

rubric::Execution execution_of(const Timed& timed, const Timed& built_in) {
  rubric::Execution out;
  out.native = true;
  if (timed.kind == Timed::Kind::failed) {
    out.outcome = rubric::Outcome::not_built;
    return out;
  }
  out.outcome = rubric::Outcome::passed;
  out.seconds = timed.seconds;
  const double speedup = built_in.seconds / timed.seconds;
  // Less than the clock's own spread is no difference; a group's advantages would make one of it.
  constexpr double spread = 0.02;
  out.speedup = std::abs(std::log(speedup)) < spread ? 1 : speedup;
  out.over_eager = out.over_compiled = out.speedup;
  return out;
}

// What a comment can't change, nor a setting: the text with compiled knobs.
std::string code_key(const RegionProblem& problem, const plan::Region& region) {
  plan::Region written = region;
  for (const plan::Knob& knob : region.technique->knobs(problem.context(), region))
    if (!knob.recompiles) written.choices.erase(knob.name);
  return problem.key + " " + choice_text(written);
}

rubric::Scores scores_of(const RegionProblem& problem, const plan::Region& region,
                         const rubric::Execution& run) {
  const plan::Region variants[] = {region};
  auto alone = region_alone(problem, variants);
  if (!alone) return {};
  auto contents = code::write_program(*alone->task->context, alone->task->plan);
  if (!contents) return {};
  std::vector<rubric::Source> sources;
  for (const auto& [path, text] : contents->sources) sources.push_back({.path = path, .text = text});
  rubric::Evidence evidence =
      rubric::gather(sources, run, rubric::operators_of(alone->task->graph, alone->task->gpu));
  evidence.task = alone->task->name;
  return rubric::judge(evidence);
}

}  // namespace

RewardOf reward_by(rubric::RewardKind kind, rubric::Skill skill) {
  auto known = std::make_shared<std::map<std::string, rubric::Scores>>();
  const bool judged = kind != rubric::RewardKind::rule && kind != rubric::RewardKind::milestones;
  return [=](const RegionProblem& problem, const plan::Region& region, const Timed& timed,
             const Timed& built_in) {
    if (timed.kind == Timed::Kind::unknown || built_in.kind != Timed::Kind::timed)
      return std::numeric_limits<double>::quiet_NaN();
    const rubric::Execution run = execution_of(timed, built_in);
    if (!judged) return rubric::reward(kind, run, {}, skill).value;
    auto [place, fresh] = known->try_emplace(code_key(problem, region));
    if (fresh) place->second = scores_of(problem, region, run);
    return rubric::reward(kind, run, place->second, skill).value;
  };
}

}  // namespace stitch::learn
