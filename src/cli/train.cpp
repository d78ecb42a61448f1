#include "cli/train.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/choose_device.h"
#include "cli/choose_gpu.h"
#include "cli/synth.h"
#include "cli/train_page.h"
#include "graph/folder.h"
#include "learn/coder/collect.h"
#include "learn/coder/train.h"
#include "learn/synthesis/compose.h"

namespace stitch {

namespace {

using learn::RegionProblem;

struct Problems {
  std::vector<RegionProblem> train, validation, test;
  int tasks = 0;
  std::vector<std::string> left_out;
  size_t size() const { return train.size() + validation.size() + test.size(); }
};

// A kind of region that is in a training task is in no other split: the same region is the same question.
void add_problems(Problems& out, std::set<std::string>& known, const std::string& name, Graph graph,
                  const GpuSpec& gpu, Numerics numerics, learn::Split split) {
  auto task = learn::plan_task(name, std::move(graph), gpu, numerics);
  if (!task) {
    out.left_out.push_back(format("{}: {}", name, task.error().message));
    return;
  }
  ++out.tasks;
  auto& into = split == learn::Split::train        ? out.train
               : split == learn::Split::validation ? out.validation
                                                   : out.test;
  for (RegionProblem& problem : learn::problems_of(*task))
    if (known.insert(problem.key).second) into.push_back(std::move(problem));
}

Result<Problems> read_problems(const TrainCommand& command, const GpuSpec& gpu, Numerics numerics,
                               Progress& progress) {
  struct Named {
    std::string name;
    fs::path file;  // empty: composed
    int64_t number = 0;
  };
  std::vector<Named> all;
  for (const std::string& path : command.tasks) {
    STITCH_TRY(const std::vector<std::string> files, graph_files(path));
    for (const fs::path file : files)
      all.push_back({(file.filename() == graph_file ? file.parent_path() : file).stem().string(), file});
  }
  for (int i = 0; i < command.synthetic; ++i)
    all.push_back({format("composed {} {}", command.synthetic_seed, i), {}, i});
  if (all.empty())
    return user_error("empty", "there are no tasks", "name folders of graphs, or say --synthetic 200");
  Problems out;
  std::set<std::string> known;
  for (learn::Split split : {learn::Split::train, learn::Split::validation, learn::Split::test})
    for (const Named& each : all) {
      const learn::Split own =
          command.fold < 0 ? learn::split_of(each.name) : learn::split_of(each.name, command.fold);
      if (own != split) continue;
      progress.detail(each.name);
      if (each.file.empty()) {
        auto composed = learn::compose(command.synthetic_seed, each.number, learn::Scale::full);
        if (!composed)
          out.left_out.push_back(format("{}: {}", each.name, composed.error().message));
        else
          add_problems(out, known, each.name, std::move(composed->graph), gpu, numerics, split);
        continue;
      }
      auto graph = load_graph(each.file);
      if (!graph) return std::move(graph).error();
      add_problems(out, known, each.name, *std::move(graph), gpu, numerics, split);
    }
  return out;
}

Json curve_json(const learn::CurvePoint& point) {
  const learn::TrainStep& step = point.step;
  Json out = {{"step", step.step},
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
    return user_error("skill", format("there is no skill '{}'", printable(command.skill)),
                      "from-scratch, from-feedback or both");
  STITCH_TRY(out.reward, rubric::parse_reward(command.reward_kind));
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

std::string standings_text(const learn::Comparison& comparison, const Terminal& terminal) {
  if (comparison.problems == 0) return "No held-out region has a choice with a known time.\n";
  Table table({{.header = "who chooses"},
               {.header = "time over built-in", .align = Column::Align::right},
               {.header = "95 %", .align = Column::Align::right}});
  for (const learn::Standing& each : comparison.standings)
    table.add_row({each.name, format("{:.3f}", each.mean), format("{:.3f} to {:.3f}", each.low, each.high)});
  std::string out =
      format("{} held-out regions, geometric means:\n", comparison.problems) + table.render(terminal);
  for (const learn::Comparison::Search& each : comparison.searches)
    out += format("within 5 % of the best: {} needs {:.0f} trials (median), {:.0f} % of all choices\n",
                  each.name, each.median_trials, 100 * each.mean_share);
  return out;
}

Result<Json> measure_all(const TrainCommand& command, const Problems& problems, learn::Timings& timings,
                         const fs::path& file, Console& console) {
  STITCH_TRY(const runner::Device device, choose_device("auto"));
  if (device != runner::Device::cuda)
    return user_error("device", "--reward run measures on a GPU, and there is none here",
                      "use --reward model, or --reward measured with --timings from a machine with a GPU");
  std::vector<RegionProblem> all = problems.train;
  all.insert(all.end(), problems.validation.begin(), problems.validation.end());
  all.insert(all.end(), problems.test.begin(), problems.test.end());
  // Whenever time is up, all splits have had their share.
  std::ranges::sort(all, {}, &RegionProblem::key);
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
  for (const std::string& trouble : collected.troubles) progress.say("note: " + printable(trouble));
  return Json{{"regions", collected.problems},    {"known_before", collected.known},
              {"not_begun", collected.not_begun}, {"timed", collected.timed},
              {"failed", collected.failed},       {"troubles", collected.troubles}};
}

}  // namespace

Result<int> run_train(const TrainCommand& command, Console& console) {
  STITCH_TRY(const GpuSpec gpu, choose_gpu(command.gpu));
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  STITCH_TRY(const learn::CoderTrainOptions options, options_of(command));
  if (command.reward != "model" && command.reward != "measured" && command.reward != "run")
    return user_error("reward", format("there is no reward '{}'", printable(command.reward)),
                      "model (the cost model), measured (--timings alone) or run (on this machine's GPU)");
  StopPolitely polite;
  Result<Problems> read = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "planning tasks");
    read = read_problems(command, gpu, numerics, progress);
  }
  STITCH_TRY(const Problems problems, std::move(read));
  const fs::path out = command.out;
  std::error_code failed;
  fs::create_directories(out, failed);
  if (!fs::is_directory(out))
    return user_error("output", format("{} is no folder and none can be made there", printable(command.out)));
  const fs::path timings_file = command.timings.empty() ? out / "timings.jsonl" : fs::path(command.timings);
  STITCH_TRY(learn::Timings timings, learn::Timings::read(timings_file));
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
  if (command.reward == "run") {
    STITCH_TRY(document["measured"], measure_all(command, problems, timings, timings_file, console));
  }
  learn::EstimatedTimes estimated;
  learn::MeasuredTimes measured(timings);
  learn::Times& times = command.reward == "model" ? static_cast<learn::Times&>(estimated) : measured;
  const fs::path curve_file = out / "curve.jsonl", checkpoint = out / "checkpoint.safetensors",
                 policy_file = out / "coder.safetensors";
  learn::CoderTrainHooks hooks{.checkpoint = checkpoint, .on_step = {}, .should_stop = stop_requested};
  std::vector<Json> curve;
  if (fs::exists(checkpoint)) {
    STITCH_TRY(const learn::Checkpoint before, learn::read_checkpoint(checkpoint));
    STITCH_TRY(curve, curve_until(curve_file, before.steps));
  }
  auto curve_text = [&] {
    std::string text;
    for (const Json& point : curve) text += line_text(point) + "\n";
    return text;
  };
  STITCH_CHECK(write_file(curve_file, curve_text()));
  Result<learn::Trained> trained = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "training", command.steps);
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
  const learn::Comparison comparison =
      learn::compare(std::span(&trained->policy, 1), problems.test, times, command.seed);
  document["trained"] = {{"steps", trained->steps},
                         {"best_step", trained->best_step},
                         {"validation", trained->validation},
                         {"ended", trained->ended}};
  document["held_out"] = to_json(comparison);
  document["weights"] = policy_file.string();
  const Json about = {{"stitchcuda_coder", 1},
                      {"features", learn::feature_version},
                      {"gpu", gpu.name},
                      {"reward", command.reward},
                      {"options", to_json(options)},
                      {"trained", document["trained"]},
                      {"held_out", document["held_out"]}};
  STITCH_CHECK(learn::write_policy(policy_file, trained->policy, line_text(about)));
  STITCH_CHECK(write_file(out / "training.json", document_text(document)));
  STITCH_CHECK(write_file(out / "index.html", train_page(document, curve)));
  if (console.json) {
    console.out << document_text(document);
    return 0;
  }
  if (command.reward == "model") console.out << "Times are the cost model's estimates: nothing was run.\n";
  console.out << standings_text(comparison, console.out_terminal)
              << format("{} steps ({}), best at step {}. Weights: {}\nCurve: {}\n", trained->steps,
                        trained->ended, trained->best_step, printable(policy_file.string()),
                        printable((out / "index.html").string()));
  return trained->ended == "stopped" ? 1 : 0;
}

}  // namespace stitch
