#include "agents/optimize.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/package_task.h"
#include "agents/tune.h"
#include "base/text.h"
#include "code/technique.h"
#include "code/write_program.h"
#include "device/floor.h"
#include "graph/cost.h"
#include "plan/document.h"
#include "plan/estimate.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

enum class Judged : uint8_t { quickly, wholly };

// A plan with the program made from it, and what a call of that takes.
struct Attempt {
  plan::Plan plan;
  PackageContents contents;
  verifier::Verdict verdict;
  Judged judged = Judged::quickly;
  double seconds = 0;
};

class Optimizer {
 public:
  Optimizer(const OptimizeOptions& options, const fs::path& scratch)
      : options_(options), scratch_(scratch), techniques_(code::techniques()) {
    ledger_.measured = options.device == runner::Device::cuda && options.timing;
  }

  Result<Optimized> run() {
    begin_ = Clock::now();
    STITCH_CHECK(open_verifier());
    look_at_arithmetic();
    if (options_.direct) {
      STITCH_CHECK(from_the_top());
    } else {
      STITCH_CHECK(step_by_step());
    }
    if (kept_.empty())
      return work_error("optimize", "no program passed the gates: " + ledger_.entries.back().reason);
    steps_end_with_budget_ = false;
    if (options_.tune && !options_.first) tune_settings();
    Optimized out;
    STITCH_CHECK(ship(out));
    ship_library(out.verdict);
    out.tuning = std::move(tuning_);
    out.ledger = std::move(ledger_);
    out.floor = floor_of(graph(), cost(graph()), options_.gpu).seconds();
    out.seconds = since(begin_);
    return out;
  }

 private:
  const Graph& graph() const { return task_->graph; }
  bool stopped() const { return options_.should_stop && options_.should_stop(); }

  void say(std::string_view text) const {
    if (options_.on_progress) options_.on_progress(text);
  }

  Result<void> open_verifier() {
    verifier::VerifyOptions how{.numerics = options_.numerics, .device = options_.device};
    if (task_) {
      STITCH_TRY(verifier_, verifier::Verifier::open({task_, std::nullopt}, how));
      return {};
    }
    STITCH_TRY(verifier::OpenedTask opened,
               verifier::open_task(options_.model, options_.task, options_.on_progress));
    task_ = opened.task;
    STITCH_TRY(verifier_, verifier::Verifier::open(std::move(opened), how));
    return {};
  }

  // What PyTorch multiplies in is what its accuracy asks for. Without an answer the Planner guesses.
  void look_at_arithmetic() {
    using verifier::Numerics;
    const bool matters = options_.numerics == Numerics::standard || options_.numerics == Numerics::tf32;
    if (!matters || options_.device != runner::Device::cuda) return;
    auto seen = verifier_->tf32_convolutions();
    if (seen)
      tf32_ = *std::move(seen);
    else
      say("PyTorch's arithmetic was not seen: " + seen.error().message);
  }

  bool late(double share = 1) const {
    return stopped() || since(begin_) > share * static_cast<double>(options_.budget.count());
  }
  std::string numerics() const { return std::string(verifier::name(options_.numerics)); }

  Result<void> step_by_step() {
    STITCH_TRY(plan::Plan start, plan::first_plan(graph(), numerics(), techniques_, options_.gpu, tf32_));
    take("plain", "one simple kernel a node: always right", std::move(start), Judged::quickly);
    for (const plan::StepRule& rule : plan::all_steps()) {
      if (stopped()) break;
      // Without a program that is right, the next step starts from the plain plan all the same.
      const plan::Plan& from = kept_.empty() ? start_of_next_ : kept_.back().plan;
      auto next = rule.apply(graph(), from, techniques_);
      if (!next || plan::changed_regions(from, *next).empty()) continue;
      if (late()) {
        cut_off(rule.name, rule.why, estimated(from) - estimated(*next));
        continue;
      }
      // A step that rounds is judged on every kind of input, as what ships will be.
      take(rule.name, rule.why, *std::move(next), rule.rounds ? Judged::wholly : Judged::quickly);
    }
    return {};
  }

  void cut_off(std::string_view step, std::string_view why, double predicted_gain) {
    LedgerEntry entry{.step = std::string(step), .why = std::string(why), .predicted_gain = predicted_gain};
    entry.reason = budget_spent();
    entry.fate = Fate::cut_off;
    ledger_.entries.push_back(std::move(entry));
  }
  std::string budget_spent() const { return format("the budget of {} s was spent", options_.budget.count()); }

  Result<plan::BestSteps> plan_without(const std::set<std::string>& dropped) const {
    return plan::best_plan_of_steps(
        graph(), numerics(), techniques_, options_.gpu,
        [&](const plan::StepRule& rule) { return !dropped.contains(std::string(rule.name)); }, tf32_);
  }

  static bool same(const plan::Plan& a, const plan::Plan& b) {
    return a.regions.size() == b.regions.size() && plan::changed_regions(a, b).empty();
  }

  // Of a plan whose program failed: after wrong results the last step that changes any, else the last one.
  std::string suspect(const plan::Plan& plan) const {
    auto changes_results = [](const plan::Step& step) {
      return std::ranges::any_of(plan::all_steps(), [&](const plan::StepRule& rule) {
        return rule.name == step.title && (rule.rounds || rule.approximates);
      });
    };
    const bool wrong = ledger_.entries.back().reason.starts_with("correctness");
    for (size_t i = plan.steps.size(); wrong && i-- > 0;)
      if (changes_results(plan.steps[i])) return plan.steps[i].title;
    return plan.steps.back().title;
  }

  Result<void> from_the_top() {
    const Judged judged = options_.quick ? Judged::quickly : Judged::wholly;
    std::set<std::string> dropped;
    STITCH_TRY(plan::BestSteps best, plan_without(dropped));
    for (const plan::Step& step : best.left_out) {
      LedgerEntry entry{.step = step.title, .why = step.why, .predicted_gain = step.predicted_gain};
      entry.reason = step.predicted_gain < 0 ? "predicted to be slower" : "predicted to gain nothing";
      entry.fate = Fate::left_out;
      ledger_.entries.push_back(std::move(entry));
    }
    plan::Plan plan = std::move(best.plan);
    take("all steps", "the whole plan at once", plan, judged);
    while (kept_.empty() && !plan.steps.empty() && !stopped()) {
      const plan::Plan failed = plan;
      const std::string first = suspect(plan);
      do {
        dropped.insert(suspect(plan));
        STITCH_TRY(best, plan_without(dropped));
        plan = std::move(best.plan);
        // There must be a program in the end: when time is up, the one that is always right.
      } while (!plan.steps.empty() && (late() || same(plan, failed)));
      if (late())
        for (const plan::Step& step : failed.steps)
          if (step.title != first) cut_off(step.title, step.why, step.predicted_gain);
      take(late() ? "plain" : "without " + first, "the program with it failed", plan, judged);
    }
    // Is the program better without one of its steps? Not without those that it lives by. A third of the time
    // is the tuner's.
    constexpr double hopeless = 1.5, share = 2.0 / 3;
    for (; !options_.first && !kept_.empty() && !plan.steps.empty() && !stopped(); plan.steps.pop_back()) {
      std::set<std::string> fewer = dropped;
      fewer.insert(plan.steps.back().title);
      STITCH_TRY(best, plan_without(fewer));
      if (same(best.plan, plan) || best.seconds > hopeless * estimated(kept_.back().plan)) continue;
      const std::string step = "without " + plan.steps.back().title,
                        why = "is the program better without it?";
      if (late(share))
        cut_off(step, why, estimated(kept_.back().plan) - best.seconds);
      else
        take(step, why, std::move(best.plan), judged);
    }
    return {};
  }

  // The best program with values of its settings that the GPU likes better: a step like any other.
  void tune_settings() {
    const auto begin = Clock::now();
    if (!ledger_.measured)
      return say_of_tuning(
          {{"skipped", options_.device == runner::Device::emulated ? "times on the emulated GPU mean nothing"
                                                                   : "nothing is timed"}});
    if (late()) {
      if (!stopped()) cut_off("tune", "settings, tried on the GPU", 0);
      return say_of_tuning({{"skipped", stopped() ? "stopped" : "the budget is spent"}});
    }
    std::vector<Tunable> tunables =
        tunables_of(graph(), kept_.back().plan, kept_.back().contents.manifest, options_.gpu);
    if (tunables.empty()) return say_of_tuning({{"skipped", "the program has no settings that matter"}});
    LedgerEntry entry{.step = "tune", .why = "settings, tried on the GPU", .before = kept_.back().seconds};
    const Tuned tuned = search(tunables, entry.reason);
    say_of_tuning(to_json(tuned));
    if (tuned.settings.empty()) {
      if (entry.reason.empty())
        entry.reason = format("none of {} values tried is faster{}{}", tuned.tried,
                              tuned.ended.empty() ? "" : "; ", tuned.ended);
      ledger_.entries.push_back(std::move(entry));
    } else {
      const Judged judged = options_.direct && !options_.quick ? Judged::wholly : Judged::quickly;
      take(entry.step, entry.why, kept_.back().plan, judged, tuned.settings);
    }
    ledger_.entries.back().seconds = since(begin);
  }

  void say_of_tuning(Json tuning) {
    if (tuning.contains("skipped")) say("no tuning: " + tuning["skipped"].get<std::string>());
    tuning_ = std::make_shared<const Json>(std::move(tuning));
  }

  // With what is left of the budget, at most a third of it. Whatever goes wrong costs the tuning and nothing
  // else.
  Tuned search(const std::vector<Tunable>& tunables, std::string& reason) {
    const double budget = static_cast<double>(options_.budget.count()), left = budget - since(begin_);
    const auto begin = Clock::now();
    TuneOptions limits{.seconds_left = [&] { return std::min(left, budget / 3) - since(begin); },
                       .should_stop = options_.should_stop,
                       .on_progress = options_.on_progress};
    verifier::VerifyOptions program = asked(scratch_ / "tune");
    program.time_limit = std::chrono::seconds(20);  // a value that hangs costs no more than this
    try {
      auto clock = clock_for(program);
      if (clock) return tune(tunables, **clock, TuningCache((*clock)->machine()), limits);
      reason = clock.error().message;
      recover(clock.error(), reason);
    } catch (const std::exception& bug) {
      reason = format("a bug of ours: {}", bug.what());
    }
    return Tuned{.ended = reason};
  }

  Result<std::unique_ptr<verifier::SettingsClock>> clock_for(const verifier::VerifyOptions& program) {
    STITCH_CHECK(write_package(program.program, kept_.back().contents));
    return verifier_->settings_clock(program);
  }

  double estimated(const plan::Plan& plan) const { return plan::estimate(graph(), plan, options_.gpu); }

  // Codes and judges a plan; it stays if the whole program got better. Whatever goes wrong costs this step
  // and nothing else.
  void take(std::string_view step, std::string_view why, plan::Plan plan, Judged judged,
            const runner::Settings& settings = {}) {
    auto begin = Clock::now();
    double best = kept_.empty() ? 0 : kept_.back().seconds;
    LedgerEntry entry{
        .step = std::string(step), .why = std::string(why), .before = best, .settings = settings};
    if (!kept_.empty()) entry.predicted_gain = estimated(kept_.back().plan) - estimated(plan);
    if (kept_.empty()) start_of_next_ = plan;
    say(step);
    if (std::optional<Attempt> attempt = attempt_at(std::move(plan), judged, entry)) {
      entry.after = attempt->seconds;
      entry.kept = kept_.empty() || entry.after < best;
      if (entry.kept)
        kept_.push_back(*std::move(attempt));
      else
        entry.reason = "not faster";
    }
    entry.seconds = since(begin);
    ledger_.entries.push_back(std::move(entry));
  }

  // Once there is a program to ship, a step is given up where the budget ends.
  bool cut_short() const { return steps_end_with_budget_ && !kept_.empty() && !stopped() && late(); }

  std::optional<Attempt> attempt_at(plan::Plan plan, Judged judged, LedgerEntry& entry) {
    try {
      auto attempt = make(std::move(plan), judged, entry.settings);
      if (attempt) return *std::move(attempt);
      entry.reason = attempt.error().message;
      recover(attempt.error(), entry.reason);
      if (attempt.error().code == "stopped" && !stopped()) {
        entry.reason = budget_spent();
        entry.fate = Fate::cut_off;
      }
    } catch (const std::exception& bug) {
      entry.reason = format("a bug of ours: {}", bug.what());
    }
    return std::nullopt;
  }

  // Trouble of our own, such as a reference that ran out of memory: the next step gets a new one.
  void recover(const Error& error, std::string& reason) {
    if (error.blame == Error::Blame::work && error.code != "stopped")
      if (auto opened = open_verifier(); !opened) reason += "; " + opened.error().message;
  }

  Result<Attempt> make(plan::Plan plan, Judged judged, const runner::Settings& settings) {
    STITCH_CHECK(plan::check(graph(), plan));
    STITCH_TRY(PackageContents contents, code::write_program(graph(), plan));
    if (!settings.empty()) code::set_values(contents, settings);
    fs::path folder = scratch_ / format("step{}", ledger_.entries.size());
    STITCH_CHECK(write_package(folder, contents));
    verifier::VerifyOptions options = asked(folder);
    options.quick = judged == Judged::quickly;
    if (judged_as_shipped(judged)) options.baselines = options_.baselines;
    STITCH_TRY(verifier::Verdict verdict, verifier_->judge(options));
    if (!verdict.passed())
      return user_error("step", verdict.failure()->gate + ": " + verdict.failure()->summary);
    double seconds = seconds_of(verdict, plan);
    return Attempt{std::move(plan), std::move(contents), std::move(verdict), judged, seconds};
  }

  // What is likely to ship is judged once. By other seeds, the same gates may say otherwise of a program at
  // the edge of its budget, when there is nothing left to fall back on.
  bool judged_as_shipped(Judged judged) const {
    return options_.direct && (judged == Judged::wholly || options_.quick);
  }

  double seconds_of(const verifier::Verdict& verdict, const plan::Plan& plan) const {
    return verdict.timing ? verdict.timing->at("program").at("seconds").get<double>() : estimated(plan);
  }

  verifier::VerifyOptions asked(const fs::path& program) const {
    verifier::VerifyOptions out{.program = program, .numerics = options_.numerics, .device = options_.device};
    out.timing = options_.timing;
    out.on_progress = options_.on_progress;
    out.should_stop = [this] { return stopped() || cut_short(); };
    return out;
  }

  // The best program that passes every gate, beside the baselines: should the best one fail one that the
  // steps don't have, the one before it has its turn.
  Result<void> ship(Optimized& out) {
    if (const verifier::GateReport* profile = kept_.front().verdict.gate("profile"))
      out.plain_profile = profile->evidence;
    for (; !kept_.empty(); kept_.pop_back()) {
      const Attempt& best = kept_.back();
      STITCH_CHECK(write(best));
      out.seconds_a_call = best.seconds;
      out.verdict = best.verdict;
      out.regions = std::make_shared<const Json>(
          plan::to_json(graph(), best.plan, options_.gpu).value("regions", Json::array()));
      if (judged_as_shipped(best.judged)) return {};
      verifier::VerifyOptions whole = asked(options_.out);
      whole.baselines = options_.baselines;
      whole.quick = options_.quick;
      auto verdict = verifier_->judge(whole);
      // The steps' verdict stands where there is no time for another, or something of ours broke.
      if (!verdict) {
        out.stopped = verdict.error().code == "stopped";
        if (!out.stopped) out.verdict.notes.push_back("judged as a step only: " + verdict.error().message);
        return {};
      }
      out.verdict = *std::move(verdict);
      if (out.verdict.passed()) {
        out.seconds_a_call = seconds_of(out.verdict, best.plan);
        return {};
      }
      LedgerEntry entry{.step = "ship", .why = "every gate", .before = best.seconds};
      entry.reason = out.verdict.failure()->gate + ": " + out.verdict.failure()->summary;
      ledger_.entries.push_back(std::move(entry));
    }
    return {};
  }

  // What was judged, where model_new.py looks before it compiles. It can do without.
  void ship_library(const verifier::Verdict& verdict) const {
    if (options_.device != runner::Device::cuda || !verdict.passed()) return;
    const fs::path library = options_.out / "build" / "libprogram.so";
    std::error_code ignored;
    fs::create_directories(library.parent_path(), ignored);
    fs::copy_file(verdict.library, library, fs::copy_options::overwrite_existing, ignored);
  }

  // With its task and constants.
  Result<void> write(const Attempt& attempt) const {
    PackageContents contents = attempt.contents;
    STITCH_CHECK(add_task(contents, *task_));
    return write_package(options_.out, contents);
  }

  const OptimizeOptions& options_;
  fs::path scratch_;
  plan::Techniques techniques_;
  std::shared_ptr<const Task> task_;
  std::unique_ptr<verifier::Verifier> verifier_;
  Clock::time_point begin_;
  bool steps_end_with_budget_ = true;
  std::map<int32_t, bool> tf32_;  // as PyTorch was seen to do it
  plan::Plan start_of_next_;      // until something is kept
  std::vector<Attempt> kept_;     // each better than the one before it
  Ledger ledger_;
  std::shared_ptr<const Json> tuning_;
};

}  // namespace

Result<Optimized> optimize(const OptimizeOptions& options) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-optimize"));
  return Optimizer(options, scratch.path()).run();
}

}  // namespace stitch::agents
