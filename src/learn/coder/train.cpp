#include "learn/coder/train.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "plan/estimate.h"

namespace stitch::learn {

namespace {

// Of log(time / the built-in choice's): how much slower what is far slower is matters nothing.
constexpr double most_difference = 0.7;
// A caution with which no other choice is ever taken.
constexpr double never = 1e6;

// For the second skill: some other choice, what it took, and what the cost model says it waits for.
std::optional<Feedback> feedback_on(RegionQuestion& question, uint64_t seed) {
  const RegionProblem& problem = question.problem();
  Draw draw(seed, stable_hash(problem.key));
  const auto drawn = static_cast<size_t>(draw.below(std::ssize(question.choices())));
  const Timed timed = question.time_of(drawn);
  if (timed.kind != Timed::Kind::timed) return std::nullopt;
  Feedback out{.previous = question.choices()[drawn], .seconds = timed.seconds, .bottleneck = {}};
  const plan::RegionEstimate parts = plan::estimate(problem.context(), problem.plan(), out.previous);
  out.bottleneck = parts.launch > std::max(parts.memory, parts.compute) ? "launch"
                   : parts.compute > parts.memory                       ? "compute"
                                                                        : "memory";
  return out;
}

Differences differences_of(RegionQuestion& question) {
  Differences out{.options = question.options({}), .wanted = {}};
  const Timed built_in = question.time_of(0);
  for (size_t i = 0; i < question.choices().size(); ++i) {
    const Timed timed = question.time_of(i);
    const bool known = timed.kind == Timed::Kind::timed && built_in.kind == Timed::Kind::timed;
    out.wanted.push_back(known ? -sharpness * std::clamp(std::log(timed.seconds / built_in.seconds),
                                                         -most_difference, most_difference)
                               : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

// What a member learns from.
struct Asked {
  Questions questions;
  std::vector<Differences> differences;
};

void ask(Asked& out, const RegionProblem& problem, Times& times, const CoderTrainOptions& options) {
  auto add = [&](rubric::Skill skill, std::optional<Feedback> feedback) {
    auto question = std::make_unique<RegionQuestion>(problem, times, reward_by(options.reward, skill),
                                                     std::move(feedback));
    if (question->choices().empty()) return;
    out.differences.push_back(differences_of(*question));
    out.questions.push_back(std::move(question));
  };
  if (options.skill != SkillChoice::from_feedback) add(rubric::Skill::from_scratch, std::nullopt);
  if (options.skill == SkillChoice::from_scratch) return;
  RegionQuestion plain(problem, times);
  if (plain.choices().empty()) return;
  if (auto feedback = feedback_on(plain, options.train.seed))
    add(rubric::Skill::from_feedback, std::move(feedback));
}

// A third of the tasks, others for each member. Alone, one learns from all.
bool leaves_out(const CoderTrainOptions& options, int member, const std::string& task) {
  return options.members > 1 &&
         stable_hash(format("member {} {} {}", options.train.seed, member, task)) % 3 == 0;
}

std::set<std::string> known_ways(const std::vector<RegionProblem>& problems, Times& times, size_t after) {
  std::map<std::string, size_t> regions;
  for (const RegionProblem& problem : problems) {
    RegionQuestion question(problem, times);
    std::set<std::string> here;
    for (const plan::Region& each : question.choices()) here.insert(way_text(each));
    for (const std::string& each : here) ++regions[each];
  }
  std::set<std::string> out;
  for (const auto& [way, count] : regions)
    if (count >= after) out.insert(way);
  return out;
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

double validate(const Committee& committee, const std::vector<RegionProblem>& problems, Times& times) {
  double sum = 0;
  int count = 0;
  for (const RegionProblem& problem : problems) {
    RegionQuestion question(problem, times);
    if (question.choices().empty()) continue;
    const Timed chosen = question.time_of(decide(committee, question)), built_in = question.time_of(0);
    if (chosen.kind != Timed::Kind::timed || built_in.kind != Timed::Kind::timed) continue;
    sum += std::log(chosen.seconds / built_in.seconds);
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : 1;
}

fs::path checkpoint_of(const fs::path& checkpoint, int member) {
  return checkpoint.empty() ? fs::path() : fs::path(format("{}.{}", checkpoint.string(), member));
}

Result<int64_t> steps_in(const fs::path& checkpoint) {
  int64_t sum = 0;
  for (int member = 0; fs::exists(checkpoint_of(checkpoint, member)); ++member) {
    STITCH_TRY(const Checkpoint read, read_checkpoint(checkpoint_of(checkpoint, member)));
    sum += read.steps;
  }
  return sum;
}

namespace {

struct Member {
  Scorer policy;  // the best by validation
  int64_t steps = 0;
  bool stopped = false;
};

Result<Member> train_member(int member, const Asked& asked, const std::vector<RegionProblem>& watched,
                            Times& times, const CoderTrainOptions& options, const CoderTrainHooks& hooks,
                            int64_t steps_before) {
  TrainOptions own = options.train;
  own.seed = stable_hash(format("member {} of {}", member, own.seed));
  ScorerShape shape{{feature_count()}};
  shape.widths.insert(shape.widths.end(), options.hidden.begin(), options.hidden.end());
  const fs::path file = checkpoint_of(hooks.checkpoint, member), best_file = file.string() + ".best";
  const Json settings = to_json(options);
  Json about = {{"features", feature_version}, {"options", settings}, {"questions", asked.questions.size()}};
  std::optional<Trainer> trainer;
  double best = INFINITY;
  int64_t best_step = 0;
  if (!file.empty() && fs::exists(file)) {
    STITCH_TRY(Checkpoint read, read_checkpoint(file));
    STITCH_TRY(const Json before, parse_json(read.about));
    if (before.value("options", Json()) != settings ||
        before.value("questions", size_t{0}) != asked.questions.size() || read.policy.shape() != shape)
      return at(file.string(),
                user_error("checkpoint", "this run was started with other settings or other tasks",
                           "resume it with those, or give another output folder"));
    best = before.value("best", INFINITY);
    best_step = before.value("best_step", int64_t{0});
    trainer.emplace(std::move(read.policy), std::move(read.reference), std::move(read.adam), read.steps, own);
  } else {
    trainer.emplace(Scorer(shape, own.seed), own);
    constexpr int batch = 8;
    for (int pass = 0; pass < options.warm_up; ++pass)
      trainer->fit(asked.differences, batch, 1 - static_cast<double>(pass) / options.warm_up);
    trainer->hold_on();
  }
  Member out{.policy = trainer->policy()};
  if (std::isfinite(best) && fs::exists(best_file)) {
    STITCH_TRY(PolicyFile read, read_policy(best_file));
    out.policy = std::move(read.members[0]);
  }
  auto check = [&]() -> Result<double> {
    const double now = validate({.members = {trainer->policy()}}, watched, times);
    if (now < best) {
      best = now;
      best_step = trainer->steps();
      out.policy = trainer->policy();
      if (!file.empty()) STITCH_CHECK(write_policy(best_file, std::span(&out.policy, 1), "{}"));
    }
    if (!file.empty()) {
      about["best"] = best;
      about["best_step"] = best_step;
      STITCH_CHECK(write_checkpoint(file, *trainer, line_text(about)));
    }
    return now;
  };
  auto say = [&](TrainStep step, std::optional<double> validation) {
    step.step += steps_before;
    if (hooks.on_step) hooks.on_step({.member = member, .step = step, .validation = validation});
  };
  if (trainer->steps() == 0) {
    STITCH_TRY(const double first, check());
    say({}, first);
  }
  auto waited_enough = [&] {
    return options.patience > 0 && trainer->steps() % options.check_every == 0 &&
           trainer->steps() - best_step >= options.patience * options.check_every;
  };
  while (trainer->steps() < options.steps && !waited_enough()) {
    if (hooks.should_stop && hooks.should_stop()) {
      out.stopped = true;
      break;
    }
    const TrainStep step = trainer->step(asked.questions);
    std::optional<double> validation;
    if (trainer->steps() % options.check_every == 0 || trainer->steps() == options.steps) {
      STITCH_TRY(const double now, check());
      validation = now;
    }
    say(step, validation);
  }
  // As it is kept: a run that is read back chooses the same.
  for (double& each : out.policy.parameters()) each = static_cast<float>(each);
  out.steps = trainer->steps();
  return out;
}

// On training tasks, each judged by the members that didn't learn from it: the caution whose mean is best
// even if it is a standard error worse than it looks. None is better than the built-in choice: never.
void choose_caution(Trained& out, const std::vector<RegionProblem>& train, Times& times,
                    const CoderTrainOptions& options) {
  const double cautions[] = {0, 0.5, 1, 2, 3, 5};
  std::map<double, std::vector<double>> logs;
  for (const RegionProblem& problem : train) {
    std::vector<bool> asked;
    for (int m = 0; m < std::ssize(out.committee.members); ++m)
      asked.push_back(leaves_out(options, m, problem.task->name));
    if (std::ranges::count(asked, true) < 2) continue;
    RegionQuestion question(problem, times);
    if (question.choices().empty() || question.time_of(0).kind != Timed::Kind::timed) continue;
    const std::vector<Forecast> known = forecasts(out.committee.members, question, &asked);
    for (double caution : cautions) {
      const Timed timed = question.time_of(decide(out.committee, question, known, caution));
      if (timed.kind == Timed::Kind::timed)
        logs[caution].push_back(std::log(timed.seconds / question.time_of(0).seconds));
    }
  }
  if (logs.empty()) return;  // too few members to tell
  out.committee.caution = never;
  double least = 0;
  for (const auto& [caution, all] : logs) {
    const auto count = static_cast<double>(all.size());
    double mean = 0, squares = 0;
    for (double log : all) mean += log / count;
    for (double log : all) squares += (log - mean) * (log - mean);
    const double bound = mean + (count > 1 ? std::sqrt(squares / (count - 1) / count) : 0);
    out.out_of_sample_regions = static_cast<int>(all.size());
    if (!(bound < least)) continue;
    least = bound;
    out.committee.caution = caution;
    out.out_of_sample = std::exp(mean);
  }
}

}  // namespace

Result<Trained> train_coder(const std::vector<RegionProblem>& train,
                            const std::vector<RegionProblem>& validation, Times& times,
                            const CoderTrainOptions& options, const CoderTrainHooks& hooks) {
  Trained out{.ended = "every step"};
  out.committee.known_ways = known_ways(train, times, options.known_after);
  for (int member = 0; member < options.members && out.ended != "stopped"; ++member) {
    Asked asked;
    for (const RegionProblem& problem : train)
      if (!leaves_out(options, member, problem.task->name)) ask(asked, problem, times, options);
    if (asked.questions.empty())
      return user_error("empty",
                        "nothing to train on: no region of these tasks has a choice with a known time",
                        "give more tasks, or timings for these");
    STITCH_TRY(Member own, train_member(member, asked, validation.empty() ? train : validation, times,
                                        options, hooks, out.steps));
    out.steps += own.steps;
    out.committee.members.push_back(std::move(own.policy));
    if (own.stopped) out.ended = "stopped";
  }
  choose_caution(out, train, times, options);
  out.validation = validate(out.committee, validation.empty() ? train : validation, times);
  return out;
}

Json to_json(const CoderTrainOptions& options) {
  static constexpr const char* skills[] = {"from-scratch", "from-feedback", "both"};
  const TrainOptions& train = options.train;
  return {{"seed", train.seed},
          {"members", options.members},
          {"known_after", options.known_after},
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
