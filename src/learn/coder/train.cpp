#include "learn/coder/train.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "learn/coder/decide.h"
#include "plan/estimate.h"

namespace stitch::learn {

namespace {

constexpr size_t most_answers = 4096;
// Which of the choices won that a clock can't tell apart is chance: the built-in one is imitated if it is
// among them, else all of them.
constexpr size_t most_imitated = 4;
constexpr double as_good = 1.02;

// For the second skill: some other choice, what it took, and what the cost model says it waits for.
std::optional<Feedback> feedback_on(RegionQuestion& question, Times& times, uint64_t seed) {
  const RegionProblem& problem = question.problem();
  Draw draw(seed, stable_hash(problem.key));
  std::vector<int> path;
  const auto features = static_cast<int64_t>(feature_count());
  for (std::vector<float> rows; !(rows = question.options(path)).empty();)
    path.push_back(static_cast<int>(draw.below(std::ssize(rows) / features)));
  Feedback out{.previous = question.region_of(path)};
  const Timed timed = times.of(problem, out.previous);
  if (timed.kind != Timed::Kind::timed) return std::nullopt;
  out.seconds = timed.seconds;
  const plan::RegionEstimate parts = plan::estimate(problem.context(), problem.plan(), out.previous);
  out.bottleneck = parts.launch > std::max(parts.memory, parts.compute) ? "launch"
                   : parts.compute > parts.memory                       ? "compute"
                                                                        : "memory";
  return out;
}

struct Asked {
  Questions questions;
  std::vector<Answer> best;  // decisions that lead to the fastest known choices
};

void ask(Asked& out, const RegionProblem& problem, Times& times, const CoderTrainOptions& options) {
  auto add = [&](rubric::Skill skill, std::optional<Feedback> feedback) {
    auto question = std::make_unique<RegionQuestion>(problem, times, reward_by(options.reward, skill),
                                                     std::move(feedback));
    if (question->options({}).empty()) return;
    std::vector<std::pair<double, std::vector<int>>> timed;
    for (std::vector<int>& path : question->all_answers(most_answers)) {
      const Timed each = times.of(problem, question->region_of(path));
      if (each.kind == Timed::Kind::timed) timed.emplace_back(each.seconds, std::move(path));
    }
    // The built-in choice first among equals.
    const Timed built_in = times.of(problem, problem.now());
    if (auto path = question->decisions_to(problem.now()); path && built_in.kind == Timed::Kind::timed) {
      const auto least = std::ranges::min_element(timed, {}, &std::pair<double, std::vector<int>>::first);
      if (least != timed.end() && built_in.seconds <= as_good * least->first)
        timed = {{built_in.seconds, *std::move(path)}};
    }
    std::ranges::stable_sort(timed, {}, &std::pair<double, std::vector<int>>::first);
    for (size_t i = 0; i < std::min(most_imitated, timed.size()); ++i) {
      if (timed[i].first > as_good * timed[0].first) break;
      if (auto answer = answer_of(*question, timed[i].second)) out.best.push_back(*std::move(answer));
    }
    out.questions.push_back(std::move(question));
  };
  if (options.skill != SkillChoice::from_feedback) add(rubric::Skill::from_scratch, std::nullopt);
  if (options.skill == SkillChoice::from_scratch) return;
  RegionQuestion plain(problem, times, [](auto&&...) { return 0.0; });
  if (plain.options({}).empty()) return;
  if (auto feedback = feedback_on(plain, times, options.train.seed))
    add(rubric::Skill::from_feedback, std::move(feedback));
}

}  // namespace

Split split_of(std::string_view task) {
  const uint64_t tenth = stable_hash(format("split {}", task)) % 10;
  return tenth == 0 ? Split::test : tenth == 1 ? Split::validation : Split::train;
}

Split split_of(std::string_view task, int fold) {
  const uint64_t hash = stable_hash(format("fold {}", task));
  if (static_cast<int>(hash % folds) == fold) return Split::test;
  return hash / folds % 9 == 0 ? Split::validation : Split::train;
}

std::string_view name(Split split) {
  return split == Split::train ? "train" : split == Split::validation ? "validation" : "test";
}

double validate(const Scorer& policy, const std::vector<RegionProblem>& problems, Times& times) {
  double sum = 0;
  int count = 0;
  for (const RegionProblem& problem : problems) {
    RegionQuestion question(problem, times, [](auto&&...) { return 0.0; });
    if (question.options({}).empty()) continue;
    const Timed chosen = times.of(problem, decide(policy, question, usual_caution));
    const Timed built_in = times.of(problem, problem.now());
    if (chosen.kind != Timed::Kind::timed || built_in.kind != Timed::Kind::timed) continue;
    sum += std::log(chosen.seconds / built_in.seconds);
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : 1;
}

Result<Trained> train_coder(const std::vector<RegionProblem>& train,
                            const std::vector<RegionProblem>& validation, Times& times,
                            const CoderTrainOptions& options, const CoderTrainHooks& hooks) {
  Asked asked;
  for (const RegionProblem& problem : train) ask(asked, problem, times, options);
  if (asked.questions.empty())
    return user_error(
        "empty", "there is nothing to learn from: no region of these tasks has a choice with a known time",
        "give more tasks, or timings of these");
  ScorerShape shape{{feature_count()}};
  shape.widths.insert(shape.widths.end(), options.hidden.begin(), options.hidden.end());
  const Json settings = to_json(options);
  std::optional<Trainer> trainer;
  Trained out{.policy = Scorer(shape, options.train.seed), .ended = "every step"};
  Json about = {{"features", feature_version}, {"options", settings}, {"questions", asked.questions.size()}};
  double best = INFINITY;
  int64_t best_step = 0;
  if (!hooks.checkpoint.empty() && fs::exists(hooks.checkpoint)) {
    STITCH_TRY(Checkpoint read, read_checkpoint(hooks.checkpoint));
    STITCH_TRY(const Json before, parse_json(read.about));
    if (before.value("options", Json()) != settings ||
        before.value("questions", size_t{0}) != asked.questions.size() || read.policy.shape() != shape)
      return at(hooks.checkpoint.string(),
                user_error("checkpoint", "this run was started with other settings or other tasks",
                           "resume it with those, or give another output folder"));
    best = before.value("best", INFINITY);
    best_step = before.value("best_step", int64_t{0});
    trainer.emplace(std::move(read.policy), std::move(read.reference), std::move(read.adam), read.steps,
                    options.train);
  } else {
    trainer.emplace(Scorer(shape, options.train.seed), options.train);
    for (int pass = 0; pass < options.warm_up; ++pass) trainer->imitate(asked.best, 16);
    trainer->hold_on();
  }
  const fs::path best_file =
      hooks.checkpoint.empty() ? fs::path() : fs::path(hooks.checkpoint.string() + ".best");
  // The best policy so far: a resumed run has it on disk.
  out.policy = trainer->policy();
  if (std::isfinite(best) && fs::exists(best_file)) {
    STITCH_TRY(PolicyFile file, read_policy(best_file));
    out.policy = std::move(file.policy);
  }
  const std::vector<RegionProblem>& watched = validation.empty() ? train : validation;
  auto check = [&]() -> Result<double> {
    const double now = validate(trainer->policy(), watched, times);
    if (now < best) {
      best = now;
      best_step = trainer->steps();
      out.policy = trainer->policy();
      if (!best_file.empty()) STITCH_CHECK(write_policy(best_file, out.policy, "{}"));
    }
    if (!hooks.checkpoint.empty()) {
      about["best"] = best;
      about["best_step"] = best_step;
      STITCH_CHECK(write_checkpoint(hooks.checkpoint, *trainer, line_text(about)));
    }
    return now;
  };
  if (trainer->steps() == 0)
    STITCH_CHECK([&]() -> Result<void> {
      STITCH_TRY(const double first, check());
      if (hooks.on_step) hooks.on_step({.step = {}, .validation = first});
      return {};
    }());
  while (trainer->steps() < options.steps) {
    if (hooks.should_stop && hooks.should_stop()) {
      out.ended = "stopped";
      break;
    }
    CurvePoint point{.step = trainer->step(asked.questions), .validation = std::nullopt};
    const int64_t step = trainer->steps();
    if (step % options.check_every == 0 || step == options.steps) {
      STITCH_TRY(const double now, check());
      point.validation = now;
    }
    if (hooks.on_step) hooks.on_step(point);
    if (options.patience > 0 && step - best_step >= options.patience * options.check_every &&
        step % options.check_every == 0) {
      out.ended = format("no better for {} checks", options.patience);
      break;
    }
  }
  // As it is kept: a run that is read back chooses the same.
  for (double& each : out.policy.parameters()) each = static_cast<float>(each);
  out.validation = best;
  out.steps = trainer->steps();
  out.best_step = best_step;
  return out;
}

Json to_json(const CoderTrainOptions& options) {
  static constexpr const char* skills[] = {"from-scratch", "from-feedback", "both"};
  const TrainOptions& train = options.train;
  return {{"seed", train.seed},
          {"steps", options.steps},
          {"warm_up", options.warm_up},
          {"check_every", options.check_every},
          {"patience", options.patience},
          {"hidden", options.hidden},
          {"skill", skills[static_cast<size_t>(options.skill)]},
          {"reward", rubric::info(options.reward).name},
          {"questions_a_step", train.questions},
          {"answers", train.answers},
          {"updates", train.updates},
          {"rate", train.adam.rate},
          {"clip", {train.grpo.clip_below, train.grpo.clip_above}},
          {"kl", train.grpo.kl},
          {"entropy", train.grpo.entropy},
          {"first_entropy", train.first_entropy},
          {"cooling", train.cooling}};
}

}  // namespace stitch::learn
