// stitchcuda train: the compact Coder learns which choices are fast.
#include "cli/commands/learn/train.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/machine/parallel.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/pages/page.h"
#include "graph/folder.h"
#include "learn/draw.h"
#include "learn/synthesis/recipes.h"

namespace stitch {

namespace {

using learn::RegionProblem, learn::Split;

struct NamedTask {
  std::string name;
  fs::path file;  // empty: composed
  int64_t number = 0;
  std::string set;  // of evaluation
  Split split = Split::train;
};

Result<void> add_graphs(std::vector<NamedTask>& out, const std::string& path, const std::string& set) {
  STITCH_TRY(const std::vector<std::string> files, graph_files(path));
  for (const fs::path file : files) {
    const std::string name = (file.filename() == graph_file ? file.parent_path() : file).stem().string();
    out.push_back({set.empty() ? name : set + "/" + name, file, 0, set});
  }
  return {};
}

Result<std::vector<NamedTask>> named_tasks(const TrainCommand& command) {
  std::vector<NamedTask> out;
  for (const std::string& path : command.tasks) STITCH_CHECK(add_graphs(out, path, {}));
  for (int i = 0; i < command.synthetic; ++i)
    out.push_back({format("composed {} {}", command.synthetic_seed, i), {}, i, {}});
  if (out.empty()) return user_error("empty", "no tasks", "name folders of graphs, or add --synthetic 200");
  for (NamedTask& each : out)
    each.split = command.fold < 0 ? learn::split_of(each.name) : learn::split_of(each.name, command.fold);
  for (const std::string& each : command.evaluate) {
    const size_t sign = each.find('=');
    if (sign == 0 || sign == each.npos || sign + 1 == each.size())
      return user_error("evaluate", format("'{}' is not of the form NAME=FOLDER", printable(each)),
                        "--evaluate NAME=FOLDER, such as level3=graphs/level3");
    STITCH_CHECK(add_graphs(out, each.substr(sign + 1), each.substr(0, sign)));
  }
  return out;
}

Result<std::shared_ptr<const learn::PlannedTask>> planned(const NamedTask& task, const TrainCommand& command,
                                                          const GpuSpec& gpu, Numerics numerics) {
  Graph graph;
  if (task.file.empty()) {
    STITCH_TRY(learn::Composed composed,
               learn::compose(command.synthetic_seed, task.number, learn::Scale::full));
    graph = std::move(composed.graph);
  } else {
    STITCH_TRY(graph, load_graph(task.file));
  }
  return learn::plan_task(task.name, std::move(graph), gpu, numerics, task.set);
}

}  // namespace

std::vector<RegionProblem> TrainProblems::all() const {
  std::vector<RegionProblem> out;
  auto add = [&](const std::vector<RegionProblem>& some) { out.insert(out.end(), some.begin(), some.end()); };
  for (const auto* some : {&train, &validation, &test}) add(*some);
  for (const auto& [set, some] : evaluation) add(some);
  return out;
}

Result<TrainProblems> read_train_problems(const TrainCommand& command, const GpuSpec& gpu, Numerics numerics,
                                          const learn::Timings* known,
                                          const std::function<void(const std::string&)>& on_task) {
  STITCH_TRY(std::vector<NamedTask> tasks, named_tasks(command));
  if (known) std::erase_if(tasks, [&](const NamedTask& each) { return !known->has_task(each.name); });
  std::vector<std::optional<Result<std::vector<RegionProblem>>>> found(tasks.size());
  std::mutex mutex;
  parallel_for(std::ssize(tasks), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      auto task = planned(tasks[at], command, gpu, numerics);
      found[at] = task ? Result(learn::problems_of(*task)) : std::move(task).error();
      const std::lock_guard lock(mutex);
      if (on_task) on_task(tasks[at].name);
    }
  });
  TrainProblems out;
  std::set<std::string> keys;
  auto add = [&](size_t i, std::vector<RegionProblem>& into) {
    if (!*found[i]) {
      out.left_out.push_back(format("{}: {}", tasks[i].name, found[i]->error().message));
      return;
    }
    ++out.tasks;
    for (RegionProblem& problem : **found[i])
      if (keys.insert(problem.key).second) into.push_back(std::move(problem));
  };
  // A region that is in a training task is in no other split: the same region is the same question.
  for (const auto& [split, into] :
       {std::pair{Split::train, &out.train}, {Split::validation, &out.validation}, {Split::test, &out.test}})
    for (size_t i = 0; i < tasks.size(); ++i)
      if (tasks[i].set.empty() && tasks[i].split == split) add(i, *into);
  for (size_t i = 0; i < tasks.size(); ++i)
    if (!tasks[i].set.empty()) add(i, out.evaluation[tasks[i].set]);
  return out;
}

Result<std::vector<std::string>> graph_files(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::vector{path};
  if (fs::exists(fs::path(path) / graph_file, error))
    return std::vector{(fs::path(path) / graph_file).string()};
  if (!fs::is_directory(path, error))
    return user_error("not_found", format("no such file or folder: {}", printable(path)),
                      "name a graph folder, a graph.txt, or a folder of graph folders");
  std::vector<std::string> out;
  for (fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error))
    if (it->path().filename() == graph_file) out.push_back(it->path().string());
  std::ranges::sort(out);
  if (out.empty())
    return user_error("not_found", format("no {} in {}", graph_file, printable(path)),
                      "stitchcuda synth and stitchcuda import write them");
  return out;
}

namespace {

std::string standings_text(const std::string& set, const Json& compared, const Terminal& terminal) {
  if (compared.value("problems", 0) == 0)
    return format("No {} region has a choice with a known time.\n", set);
  Table table({{.header = "who chooses"},
               {.header = "time over built-in", .align = Column::Align::right},
               {.header = "95 %", .align = Column::Align::right}});
  for (const Json& each : compared["time_over_built_in"])
    table.add_row({word(each, "who"), format("{:.3f}", each.value("geomean", 1.0)),
                   format("{:.3f} to {:.3f}", each.value("low", 1.0), each.value("high", 1.0))});
  std::string out = format("{} {} regions, geometric means:\n", compared.value("problems", 0), set) +
                    table.render(terminal);
  for (const Json& each : compared["search"])
    out += format("within 5 % of the best: {} needs {} trials (median), {:.0f} % of all choices\n",
                  word(each, "who"), each.value("median_trials", 0), 100 * each.value("mean_share", 0.0));
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
    all = learn::disputed(std::move(all), static_cast<size_t>(command.choices), command.train.seed);
  all = learn::in_fair_order(std::move(all));
  Progress progress(console.err, console.err_terminal, console.json, "measuring", std::ssize(all));
  STITCH_TRY(const learn::Collected collected,
             learn::collect(all, timings,
                            {.file = file,
                             .choices = static_cast<size_t>(command.choices),
                             .jobs = command.jobs,
                             .seconds = command.measure_seconds,
                             .seed = command.train.seed,
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

// Writes the table, trains on it, and keeps the curve. Nothing: it was stopped.
Result<std::optional<Json>> train(const TrainCommand& command, const TrainProblems& problems,
                                  learn::Times& times, std::vector<Json>& curve, Console& console) {
  const fs::path out = command.out;
  std::vector<learn::NamedCalibration> calibrations;
  if (command.reward != "model") {
    // The cost model, too, may learn from the training regions.
    calibrations.emplace_back("estimate fitted to the training regions",
                              learn::fit_calibration(problems.train, times));
    STITCH_TRY(const std::optional<Calibration> given, calibration_in(command.calibration));
    if (given) calibrations.emplace_back("estimate by " + command.calibration, *given);
  }
  std::vector<learn::NamedProblems> sets = {
      {"train", problems.train}, {"validation", problems.validation}, {"held-out", problems.test}};
  sets.insert(sets.end(), problems.evaluation.begin(), problems.evaluation.end());
  STITCH_TRY(const size_t questions,
             learn::write_table(out / "table.safetensors", sets, times, calibrations));
  if (questions == 0)
    return user_error("empty", "nothing to train on: no region of these tasks has a choice with a known time",
                      "give more tasks, or timings for these");
  Progress progress(console.err, console.err_terminal, console.json, "training", command.train.epochs);
  std::ofstream lines(out / "curve.jsonl");
  auto on_epoch = [&](const Json& point) {
    curve.push_back(point);
    lines << line_text(point) << std::endl;
    progress.detail(format("loss {:.3f}", point.value("loss", 0.0)));
    progress.advance();
  };
  return learn::train_coder(out, command.train, {.on_epoch = on_epoch, .should_stop = stop_requested});
}

Result<int> run_train(const TrainCommand& command, Console& console) {
  STITCH_TRY(const GpuSpec gpu, choose_gpu(command.gpu));
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  if (command.reward != "model" && command.reward != "measured" && command.reward != "run")
    return user_error("reward", format("unknown reward '{}'", printable(command.reward)),
                      "model (the cost model), measured (--timings alone) or run (on this machine's GPU)");
  STITCH_CHECK(calibration_in(command.calibration));  // before anything takes time
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
                   {"options", to_json(command.train)}};
  for (const auto& [set, own] : problems.evaluation) document["regions"][set] = own.size();
  if (command.reward == "run") {
    STITCH_TRY(document["measured"], measure_all(command, problems, timings, timings_file, console));
    if (command.measure_only) return say_measured(document, timings_file, console);
  }
  learn::EstimatedTimes estimated;
  learn::MeasuredTimes measured(timings);
  learn::Times& times = command.reward == "model" ? static_cast<learn::Times&>(estimated) : measured;
  std::vector<Json> curve;
  STITCH_TRY(std::optional<Json> result, train(command, problems, times, curve, console));
  if (!result) {
    document["stopped"] = true;
    if (console.json)
      console.out << document_text(document);
    else
      console.out << format("Stopped after epoch {} of {}; the same command continues.\n", curve.size(),
                            command.train.epochs);
    return 1;
  }
  const std::string weights = (out / "coder.safetensors").string(), drawn = (out / "index.html").string();
  const Json &trained = (*result)["trained"], &compared = (*result)["compared"];
  document["trained"] = trained;
  document["held_out"] = compared["held-out"];
  for (const auto& [set, own] : problems.evaluation)
    if (compared.contains(set)) document["evaluated"][set] = compared[set];
  document["weights"] = weights;
  document["curve"] = curve;
  STITCH_CHECK(write_file(out / "training.json", document_text(document)));
  STITCH_CHECK(write_file(drawn, page(View::train, document)));
  if (console.json) {
    console.out << document_text(document);
    return 0;
  }
  if (command.reward == "model") console.out << "Times are the cost model's estimates: nothing was run.\n";
  console.out << standings_text("held-out", compared["held-out"], console.out_terminal);
  for (const auto& [set, own] : problems.evaluation)
    if (compared.contains(set)) console.out << standings_text(set, compared[set], console.out_terminal);
  const double gain = trained.value("out_of_sample", 1.0);
  if (const int regions = trained.value("out_of_sample_regions", 0); regions > 0)
    console.out << format(
        "On {} training regions, decided by networks that were not trained on them: {:.3f} of the built-in "
        "time{}.\n",
        regions, gain, gain < 1 ? "" : "; no gain, so the built-in choices are kept");
  console.out << format("{} epochs of {} networks. Weights: {}\nCurve: {}\n", command.train.epochs,
                        command.train.members, printable(weights), printable(drawn));
  return 0;
}

}  // namespace

Run add_train(CLI::App& app) {
  const auto train = std::make_shared<TrainCommand>();
  Flags flags(app, "train",
              "Train the compact Coder, a small network that chooses a technique and knobs for each region");
  flags("TASKS", train->tasks, "graph folders, graph.txt files, or folders of them");
  flags("-o,--out", train->out, "FOLDER",
        "the run's folder: weights, checkpoint, curve; resumes a run that is there")
      .required();
  flags("--evaluate", train->evaluate, "NAME=PATH", "held-out graphs to evaluate on; can be repeated");
  flags("--synthetic", train->synthetic, "NUMBER", "also train on this many composed tasks (default: 0)")
      .between(0.0, 1e6);
  flags("--synthetic-seed", train->synthetic_seed, "NUMBER", "random seed of the composed tasks (default: 1)")
      .between(0.0, 1e15);
  flags("--fold", train->fold, "NUMBER", "hold out this fold of five, 0 to 4 (default: a fixed tenth)")
      .between(0.0, 4.0);
  flags("--reward", train->reward, "SOURCE",
        "where times come from: model (estimates), measured (--timings), run (this machine's GPU) (default: "
        "model)");
  flags("--timings", train->timings, "FILE",
        "measured times; --reward run appends to them (default: timings.jsonl in the output folder)");
  flags("--choices", train->choices, "NUMBER", "choices measured per region, at most (default: 24)")
      .between(2.0, 256.0);
  flags("--measure-seconds", train->measure_seconds, "NUMBER",
        "stop starting measurements after this many seconds (default: no limit)")
      .between(0.0, 1e6);
  flags("--measure-only", train->measure_only, "with --reward run: measure without training");
  flags("--disputed", train->disputed,
        "with --reward run: measure only regions whose built-in choice isn't the cost model's fastest");
  flags("--calibration", train->calibration, "FILE",
        "also compare with the cost model with this calibration");
  flags("--jobs", train->jobs, "NUMBER", "with --reward run: programs built at once (default: 4)")
      .between(1.0, 256.0);
  flags("--epochs", train->train.epochs, "NUMBER", "passes over the training regions (default: 60)")
      .between(1.0, 1e5);
  flags("--members", train->train.members, "NUMBER",
        "networks in the ensemble, each trained on two thirds of the tasks (default: 6)")
      .between(1.0, 64.0);
  flags("--rate", train->train.rate, "NUMBER",
        "initial learning rate of Adam; falls to zero (default: 0.003)")
      .between(0.0, 1.0);
  flags("--caution", train->train.cautions, "NUMBER",
        "also compare with these cautions: how many spreads of the networks' forecasts a choice must be "
        "faster than the built-in one (default: only the one that training finds)")
      .between(0.0, 100.0);
  flags("--seed", train->train.seed, "NUMBER", "random seed (default: 1)").between(0.0, 1e15);
  flags.numerics(train->numerics);
  flags.gpu(train->gpu, "the GPU to choose for");
  flags("--python", train->train.python, "PATH", "the Python to train with; it needs PyTorch");
  flags.json();
  flags.examples(
      "stitchcuda train -o coder/ --synthetic 200\n"
      "stitchcuda train tasks/ -o coder/ --reward run --measure-seconds 600 --jobs 8\n"
      "stitchcuda train tasks/ -o coder/ --reward measured --timings timings.jsonl\n"
      "stitchcuda train tasks/ -o coder/ --reward measured --timings timings.jsonl --evaluate mine=graphs/");
  return [train](Console& console) { return run_train(*train, console); };
}

}  // namespace stitch
