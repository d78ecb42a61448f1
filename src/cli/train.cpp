#include "cli/train.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/choose_device.h"
#include "cli/choose_gpu.h"
#include "cli/train_page.h"
#include "cli/train_problems.h"
#include "learn/coder/collect.h"
#include "learn/coder/propose.h"

namespace stitch {

namespace {

Json curve_json(const learn::CurvePoint& point) {
  const learn::TrainStep& step = point.step;
  Json out = {{"step", step.step},
              {"member", point.member},
              {"reward", step.reward},
              {"best", step.best},
              {"loss", step.loss.loss},
              {"kl", step.loss.kl},
              {"entropy", step.loss.entropy},
              {"clipped", step.loss.clipped},
              {"dropped", step.loss.dropped},
              {"flat_groups", step.loss.flat_groups},
              {"skipped_updates", step.skipped_updates}};
  if (point.validation) out["validation"] = *point.validation;
  return out;
}

// Of a run that was killed: what its checkpoint does not know of is done again.
Result<std::vector<Json>> curve_until(const fs::path& file, int64_t step) {
  std::vector<Json> out;
  if (!fs::exists(file)) return out;
  STITCH_TRY(const std::string text, read_file(file));
  for (const std::string& line : split(text, '\n')) {
    auto json = parse_json(line);
    if (json && json->is_object() && json->value("step", int64_t{-1}) <= step && json->contains("step"))
      out.push_back(*std::move(json));
  }
  return out;
}

Result<learn::CoderTrainOptions> options_of(const TrainCommand& command) {
  learn::CoderTrainOptions out;
  if (command.skill == "from-scratch")
    out.skill = learn::SkillChoice::from_scratch;
  else if (command.skill == "from-feedback")
    out.skill = learn::SkillChoice::from_feedback;
  else if (command.skill != "both")
    return user_error("skill", format("unknown skill '{}'", printable(command.skill)),
                      "from-scratch, from-feedback or both");
  STITCH_TRY(out.reward, rubric::parse_reward(command.reward_kind));
  out.members = command.members;
  out.steps = command.steps;
  out.warm_up = command.warm_up;
  out.patience = command.patience;
  out.train.seed = command.seed;
  out.train.questions = command.questions;
  out.train.answers = command.answers;
  out.train.adam.rate = command.rate;
  out.train.grpo.kl = command.kl;
  out.train.grpo.entropy = command.entropy;
  out.train.first_entropy = command.first_entropy;
  out.train.cooling = command.steps / 2;
  return out;
}

std::string standings_text(const std::string& set, const learn::Comparison& comparison,
                           const Terminal& terminal) {
  if (comparison.problems == 0) return format("No {} region has a choice with a known time.\n", set);
  Table table({{.header = "who chooses"},
               {.header = "time over built-in", .align = Column::Align::right},
               {.header = "95 %", .align = Column::Align::right}});
  for (const learn::Standing& each : comparison.standings)
    table.add_row({each.name, format("{:.3f}", each.mean), format("{:.3f} to {:.3f}", each.low, each.high)});
  std::string out =
      format("{} {} regions, geometric means:\n", comparison.problems, set) + table.render(terminal);
  for (const learn::Comparison::Search& each : comparison.searches)
    out += format("within 5 % of the best: {} needs {:.0f} trials (median), {:.0f} % of all choices\n",
                  each.name, each.median_trials, 100 * each.mean_share);
  return out;
}

Result<Json> measure_all(const TrainCommand& command, const TrainProblems& problems, learn::Timings& timings,
                         const fs::path& file, Console& console) {
  STITCH_TRY(const runner::Device device, choose_device("auto"));
  if (device != runner::Device::cuda)
    return user_error("device", "--reward run needs a GPU, and this machine has none",
                      "use --reward model, or --reward measured with --timings from a machine with a GPU");
  std::vector<learn::RegionProblem> all = problems.all();
  if (command.disputed)
    all = learn::disputed(std::move(all), static_cast<size_t>(command.choices), command.seed);
  all = learn::in_fair_order(std::move(all));
  Progress progress(console.err, console.err_terminal, console.json, "measuring", std::ssize(all));
  STITCH_TRY(const learn::Collected collected,
             learn::collect(all, timings,
                            {.file = file,
                             .choices = static_cast<size_t>(command.choices),
                             .jobs = command.jobs,
                             .seconds = command.measure_seconds,
                             .seed = command.seed,
                             .should_stop = stop_requested,
                             .on_progress = [&](const std::string& problem, int, int) {
                               progress.detail(problem);
                               progress.advance();
                             }}));
  constexpr size_t most_notes = 10;  // all are in the document
  for (size_t i = 0; i < std::min(most_notes, collected.troubles.size()); ++i)
    progress.say("note: " + printable(collected.troubles[i]));
  if (collected.by_events > 0)
    progress.say(
        format("note: {} times were taken with CUDA events, without a profiler", collected.by_events));
  return Json{{"regions", collected.problems},    {"known_before", collected.known},
              {"not_begun", collected.not_begun}, {"timed", collected.timed},
              {"failed", collected.failed},       {"by_events", collected.by_events},
              {"troubles", collected.troubles}};
}

int say_measured(const Json& document, const fs::path& file, Console& console) {
  if (console.json) {
    console.out << document_text(document);
  } else {
    const Json& measured = document["measured"];
    console.out << format("{} choices of {} regions timed, {} failed: {}\n", measured["timed"].get<int>(),
                          measured["regions"].get<int>(), measured["failed"].get<int>(),
                          printable(file.string()));
  }
  return document["measured"]["timed"].get<int>() > 0 ? 0 : 1;
}

Result<std::optional<Calibration>> calibration_in(const std::string& file) {
  if (file.empty()) return std::optional<Calibration>();
  STITCH_TRY(const std::string text, read_file(file));
  auto document = parse_json(text);
  if (!document) return within(file, std::move(document).error());
  auto calibration = read_calibration(*document);
  if (!calibration) return within(file, std::move(calibration).error());
  return std::optional(*std::move(calibration));
}

}  // namespace

Result<int> run_train(const TrainCommand& command, Console& console) {
  STITCH_TRY(const GpuSpec gpu, choose_gpu(command.gpu));
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  STITCH_TRY(const learn::CoderTrainOptions options, options_of(command));
  if (command.reward != "model" && command.reward != "measured" && command.reward != "run")
    return user_error("reward", format("unknown reward '{}'", printable(command.reward)),
                      "model (the cost model), measured (--timings alone) or run (on this machine's GPU)");
  STITCH_TRY(const std::optional<Calibration> given, calibration_in(command.calibration));
  if (command.measure_only && command.reward != "run")
    return user_error("reward", "--measure-only needs --reward run");
  StopPolitely polite;
  const fs::path out = command.out;
  const fs::path timings_file = command.timings.empty() ? out / "timings.jsonl" : fs::path(command.timings);
  STITCH_TRY(learn::Timings timings, learn::Timings::read(timings_file));
  Result<TrainProblems> read = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "planning tasks");
    read = read_train_problems(command, gpu, numerics, command.reward == "measured" ? &timings : nullptr,
                               [&](const std::string& task) { progress.detail(task); });
  }
  STITCH_TRY(const TrainProblems problems, std::move(read));
  std::error_code failed;
  fs::create_directories(out, failed);  // only now: what was asked for can be done
  if (!fs::is_directory(out))
    return user_error("output", format("{} is not a folder, and can't be created", printable(command.out)));
  Json document = {{"gpu", gpu.name},
                   {"tasks", problems.tasks},
                   {"regions",
                    {{"train", problems.train.size()},
                     {"validation", problems.validation.size()},
                     {"test", problems.test.size()}}},
                   {"fold", command.fold},
                   {"left_out", problems.left_out},
                   {"reward", command.reward},
                   {"options", to_json(options)}};
  for (const auto& [set, own] : problems.evaluation) document["regions"][set] = own.size();
  if (command.reward == "run") {
    STITCH_TRY(document["measured"], measure_all(command, problems, timings, timings_file, console));
    if (command.measure_only) return say_measured(document, timings_file, console);
  }
  learn::EstimatedTimes estimated;
  learn::MeasuredTimes measured(timings);
  learn::Times& times = command.reward == "model" ? static_cast<learn::Times&>(estimated) : measured;
  const fs::path curve_file = out / "curve.jsonl", checkpoint = out / "checkpoint.safetensors",
                 policy_file = out / "coder.safetensors";
  learn::CoderTrainHooks hooks{.checkpoint = checkpoint, .on_step = {}, .should_stop = stop_requested};
  std::vector<Json> curve;
  if (fs::exists(learn::checkpoint_of(checkpoint, 0))) {
    STITCH_TRY(const int64_t before, learn::steps_in(checkpoint));
    STITCH_TRY(curve, curve_until(curve_file, before));
  }
  auto curve_text = [&] {
    std::string text;
    for (const Json& point : curve) text += line_text(point) + "\n";
    return text;
  };
  STITCH_CHECK(write_file(curve_file, curve_text()));
  Result<learn::Trained> trained = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "training",
                      command.members * command.steps);
    if (!curve.empty()) progress.advance(curve.back().value("step", int64_t{0}));
    std::ofstream lines(curve_file, std::ios::app);
    hooks.on_step = [&](const learn::CurvePoint& point) {
      curve.push_back(curve_json(point));
      lines << line_text(curve.back()) << std::endl;
      progress.detail(format("reward {:.3f}", point.step.reward));
      if (point.step.step > 0) progress.advance();
    };
    trained = learn::train_coder(problems.train, problems.validation, times, options, hooks);
  }
  if (!trained) return std::move(trained).error();
  // The cost model, too, may learn from the training regions.
  const Calibration fitted = learn::fit_calibration(problems.train, times);
  std::vector<learn::NamedCalibration> calibrations = {{"estimate fitted to the training regions", &fitted}};
  if (given) calibrations.push_back({"estimate by " + command.calibration, &*given});
  if (command.reward == "model") calibrations.clear();
  auto compared = [&](const std::vector<learn::RegionProblem>& some) {
    return learn::compare(trained->committee, some, times, command.seed, calibrations, command.cautions);
  };
  std::vector<std::pair<std::string, learn::Comparison>> comparisons = {
      {"held-out", compared(problems.test)}};
  for (const auto& [set, own] : problems.evaluation) comparisons.emplace_back(set, compared(own));
  document["trained"] = {{"steps", trained->steps},
                         {"caution", trained->committee.caution},
                         {"out_of_sample", trained->out_of_sample},
                         {"out_of_sample_regions", trained->out_of_sample_regions},
                         {"validation", trained->validation},
                         {"ended", trained->ended}};
  document["held_out"] = to_json(comparisons[0].second);
  for (size_t i = 1; i < comparisons.size(); ++i)
    document["evaluated"][comparisons[i].first] = to_json(comparisons[i].second);
  document["weights"] = policy_file.string();
  Json standings = document["held_out"];
  standings.erase("regions");
  const Json about = {{"gpu", gpu.name},
                      {"reward", command.reward},
                      {"options", to_json(options)},
                      {"trained", document["trained"]},
                      {"held_out", standings}};
  STITCH_CHECK(learn::write_coder(policy_file, trained->committee, about));
  STITCH_CHECK(write_file(out / "training.json", document_text(document)));
  STITCH_CHECK(write_file(out / "index.html", train_page(document, curve)));
  if (console.json) {
    console.out << document_text(document);
    return 0;
  }
  if (command.reward == "model") console.out << "Times are the cost model's estimates: nothing was run.\n";
  for (const auto& [set, comparison] : comparisons)
    console.out << standings_text(set, comparison, console.out_terminal);
  if (trained->out_of_sample_regions > 0)
    console.out << format(
        "On {} training regions, decided by networks that were not trained on them: {:.3f} of the built-in "
        "time{}.\n",
        trained->out_of_sample_regions, trained->out_of_sample,
        trained->out_of_sample < 1 ? "" : "; no gain, so the built-in choices are kept");
  console.out << format("{} steps of {} networks ({}). Weights: {}\nCurve: {}\n", trained->steps,
                        trained->committee.members.size(), trained->ended, printable(policy_file.string()),
                        printable((out / "index.html").string()));
  return trained->ended == "stopped" ? 1 : 0;
}

}  // namespace stitch
