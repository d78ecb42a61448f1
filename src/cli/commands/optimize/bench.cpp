#include "cli/pages/many_report.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>

#include "agents/bench.h"
#include "base/digest/sha256.h"
#include "base/error_codes.h"
#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/machine/machine_memory.h"
#include "base/machine/parallel.h"
#include "base/machine/process.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/cluster.h"
#include "cli/commands/commands.h"
#include "cli/commands/optimize/optimize.h"
#include "cli/flags/flags.h"
#include "cli/pages/page.h"
#include "graph/mode.h"
#include "import/import_all.h"
#include "learn/coder/propose.h"
#include "reference/numerics.h"
#include "reference/torch_lender.h"
#include "serve/fleet/fan_out.h"
#include "verify/clock/clock.h"

namespace stitch {

namespace {

struct BenchCommand : BrainFlags, JudgingFlags {
  std::vector<std::string> paths;  // .py tasks, or folders of them
  std::string out;
  bool force = false;           // over what is in the way of the output
  std::string known_baselines;  // a JSONL file
  std::string python;
  Mode mode = Mode::as_written;
  int jobs = 0;  // 0: chosen
  int budget = 40;
  int time_limit = 3600;      // seconds for one task
  int deadline = 0;           // seconds of wall time per task; 0: none
  std::string coder_weights;  // of the compact Coder; empty: none
  bool no_tune = false;
  bool recall = false;
  std::string store;
  ClusterFlags cluster;
};

// level1/1_Square: the file below the folder that was named, that folder's own name before it.
Result<std::vector<agents::BenchTask>> tasks_of(const std::vector<std::string>& paths) {
  std::vector<agents::BenchTask> out;
  auto add = [&](const fs::path& task) {
    fs::path whole = fs::absolute(task).lexically_normal();
    std::string group = whole.parent_path().filename().string();
    out.push_back({whole, group + "/" + whole.stem().string(), group});
  };
  for (const std::string& path : paths) {
    std::error_code ec;
    if (fs::is_directory(path, ec)) {
      STITCH_TRY(std::vector<fs::path> found, find_tasks(path));
      std::ranges::for_each(found, add);
    } else if (fs::exists(path, ec) && fs::path(path).extension() == ".py") {
      add(path);
    } else {
      return at(path, user_error("no_file", "no such file or folder"));
    }
  }
  std::vector<std::string> names;
  for (const agents::BenchTask& task : out) names.push_back(task.name);
  std::ranges::sort(names);
  if (auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return user_error("tasks", format("two tasks are named '{}'", *twice),
                      "results are stored by folder and file name: use different output folders");
  return out;
}

// What a reader needs to judge the figures.
Json circumstances(const BenchCommand& command, const GpuSpec& gpu, bool cuda, const Json& tasks) {
  Json out = {{"version", STITCH_VERSION},
              {"date", verifier::utc_now()},
              {"numerics", command.numerics},
              {"mode", name(command.mode)},
              {"device", cuda ? "cuda" : "emulated"},
              {"gpu", gpu.name},
              {"cores", core_count()},
              {"budget_seconds", command.budget},
              {"deadline_seconds", command.deadline},
              {"quick", command.quick},
              {"compat", command.compatible},
              {"coder_weights", command.coder_weights},
              {"tune", !command.no_tune},
              {"planner", command.planner},
              {"coder", command.coder},
              {"verifier", command.verifier},
              {"coder_style", command.coder_style},
              {"known_baselines", command.known_baselines}};
  for (const Json& task : tasks)
    if (task.contains("reference") && !task["reference"].empty()) {
      out["reference"] = task["reference"];
      break;
    }
  return out;
}

// Tasks of earlier runs in this folder that this run leaves as they are; those of another class or device
// can't be counted together with these.
void keep_others(std::vector<std::shared_ptr<const Json>>& records, const agents::BenchOptions& options,
                 const std::string& numerics, bool cuda, Json& run) {
  int kept = 0, left_out = 0;
  for (const auto& record : agents::records_of_others(options.out / "tasks.jsonl", options.tasks)) {
    const std::string other = word(*record, "numerics"), device = word(*record, "device");
    const bool alike =
        (other.empty() || other == numerics) && (device.empty() || (device != "emulated") == cuda);
    if (alike) records.push_back(record);
    ++(alike ? kept : left_out);
  }
  if (kept) run["kept_from_earlier"] = kept;
  if (left_out) run["of_other_settings"] = left_out;
}

// Reports that are there, as links from index.html: task names hold what folders are called.
void link_reports(Json& tasks, const fs::path& out) {
  for (Json& task : tasks) {
    const fs::path report = fs::path("programs") / word(task, "task") / "report.html";
    std::error_code ec;
    if (!fs::exists(out / report, ec)) continue;
    std::string link;
    for (unsigned char c : report.generic_string())
      link += std::isalnum(c) || c == '/' || c == '.' || c == '_' || c == '-'
                  ? std::string(1, static_cast<char>(c))
                  : format("%{:02X}", c);
    task["report"] = link;
  }
}

// Which tasks are at work, and for how long: below the progress line, or in it where nothing is redrawn.
class RunningTasks {
 public:
  explicit RunningTasks(Progress& progress) : progress_(progress) {
    progress_.show_below([this](const Terminal& terminal) { return lines(terminal); });
  }
  RunningTasks(const RunningTasks&) = delete;
  RunningTasks& operator=(const RunningTasks&) = delete;
  ~RunningTasks() { progress_.show_below({}); }

  void start(const std::string& task) {
    change([&] { running_.emplace_back(task, Clock::now()); });
  }
  void end(const std::string& task) {
    change([&] { std::erase_if(running_, [&](const auto& one) { return one.first == task; }); });
  }

 private:
  using Clock = std::chrono::steady_clock;

  // The progress line is told outside of the mutex: it holds its own while it asks for these lines.
  void change(const auto& how) {
    std::string names;
    {
      std::lock_guard hold(mutex_);
      how();
      for (const auto& [name, since] : running_)
        names += (names.empty() ? "running: " : ", ") + printable(name);
    }
    progress_.detail(names);
  }
  std::vector<std::string> lines(const Terminal& terminal) {
    std::lock_guard hold(mutex_);
    std::vector<std::string> out;
    for (const auto& [name, since] : running_) {
      const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
      out.push_back(shorten(format("  {:>5.0f} s  {}", seconds, printable(name)), terminal.width - 1,
                            Cut::end, terminal.utf8));
    }
    return out;
  }

  Progress& progress_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, Clock::time_point>> running_;
};

// One line for all of them: each task's own record has its warnings.
void warn_of_training(const std::vector<std::shared_ptr<const Json>>& records, Warnings& warnings) {
  const auto count = std::ranges::count_if(records, [](const std::shared_ptr<const Json>& record) {
    return record && record->contains("warnings");
  });
  if (count > 0)
    warnings.say(
        format("{} of {} models {} random dropout or batch norms that use the batch's statistics; --eval for "
               "inference",
               count, records.size(), count == 1 ? "has" : "have"));
}

// Tasks go to workers of a cluster; two are on their way for each, so that none waits.
Result<std::unique_ptr<serve::FanOut>> start_workers(const BenchCommand& command, bool cuda,
                                                     agents::BenchOptions& options,
                                                     serve::FanOutOptions how) {
  STITCH_TRY(how.fleet,
             fleet_options(command.cluster, cuda, command.python, fs::path(command.out) / "workers"));
  how.at = command.cluster.at;
  how.is_result = serve::is_optimize_result;
  how.should_stop = stop_requested;
  STITCH_TRY(std::unique_ptr<serve::FanOut> out, serve::FanOut::start(how));
  options.jobs = 2 * command.cluster.workers;
  options.optimise = [workers = out.get(), &options](const agents::BenchTask& task) -> Json {
    auto payload = serve::optimize_payload(task, options);
    if (!payload) return agents::record_of(task, to_json(payload.error()));
    auto result = workers->run({task.name, std::make_shared<const Json>(*std::move(payload))});
    // What kills its workers is a record; no workers is none.
    if (!result && result.error().code == error_code::worker_lost)
      return agents::record_of(task, to_json(result.error()));
    if (!result) return nullptr;
    return serve::optimize_record(task, **result, options);
  };
  return out;
}

constexpr const char* written[] = {"summary.json", "index.html"};

// A run is continued in its folder, and nothing there is removed. Another folder with
// something in it, or edited pages, need --force.
Result<void> check_place(const fs::path& out, Overwrite overwrite) {
  std::error_code ec;
  if (!fs::exists(out / "tasks.jsonl", ec)) return OutputFolder::check(out, overwrite);
  STITCH_CHECK(OutputFolder::check(out, Overwrite::force));
  STITCH_CHECK(check_free_space(out, int64_t{64} << 20));
  if (overwrite == Overwrite::force) return {};
  for (const std::string& file : edited_files(out))
    return at((out / file).string(), user_error("exists", "was edited since stitchcuda wrote it",
                                                "move it, or add --force to replace it"));
  return {};
}

Result<int> run_bench(const BenchCommand& command, Console& console) {
  agents::BenchOptions options;
  STITCH_TRY(options.tasks, tasks_of(command.paths));
  const bool elsewhere = !command.cluster.on.empty();
  STITCH_TRY(const runner::Device device,
             elsewhere ? device_of_workers(command.device) : choose_device(command.device));
  const bool cuda = device == runner::Device::cuda;
  verifier::VerifyOptions judging;
  STITCH_CHECK(read_judging(command, device, command.known_baselines.empty() ? "all" : "none", judging));
  STITCH_TRY(GpuSpec gpu, choose_gpu(""));
  agents::KnownBaselines known;
  if (!command.known_baselines.empty()) {
    STITCH_TRY(known, agents::read_known_baselines(command.known_baselines, command.numerics));
    for (agents::BenchTask& task : options.tasks) task.pytorch_seconds = best_known(known, task.name);
  }
  const std::string baselines = judging.baselines.empty() ? "none" : join(judging.baselines, ",");
  STITCH_CHECK(check_place(command.out, overwrite_if(command.force)));
  options.out = command.out;
  options.flags = {"--numerics",  command.numerics, "--device", cuda ? "cuda" : "emulated",
                   "--baselines", baselines,        "--budget", std::to_string(command.budget)};
  if (command.mode != Mode::as_written) options.flags.push_back(format("--{}", name(command.mode)));
  if (command.deadline > 0)
    options.flags.insert(options.flags.end(), {"--deadline", std::to_string(command.deadline)});
  if (command.no_timing) options.flags.emplace_back("--no-timing");
  if (command.quick) options.flags.emplace_back("--quick");
  if (!command.compatible.empty())
    options.flags.insert(options.flags.end(), {"--compat", command.compatible});
  if (!command.coder_weights.empty()) {
    STITCH_CHECK(learn::load_coder(command.coder_weights));
    options.flags.insert(options.flags.end(), {"--coder-weights", place_of_coder(command.coder_weights)});
  }
  if (command.no_tune) options.flags.emplace_back("--no-tune");
  STITCH_CHECK(check_brains(command));
  const std::vector<std::string> brains = words_of(command, options.tasks.size());
  options.flags.insert(options.flags.end(), brains.begin(), brains.end());
  if (!command.recall) options.flags.emplace_back("--no-recall");
  if (!command.store.empty()) options.flags.insert(options.flags.end(), {"--store", command.store});
  if (!command.python.empty() && !elsewhere)
    options.flags.insert(options.flags.end(), {"--python", command.python});
  STITCH_TRY(std::string executable, sha256_of_file(executable_folder() / "stitchcuda"));
  options.identity = executable + " " + gpu.name;
  // Each has a few compilers at times, and a PyTorch all the time.
  options.jobs = command.jobs > 0 ? command.jobs : std::clamp(core_count() / 4, 1, 8);
  options.seconds_a_task = command.time_limit;
  StopPolitely polite;
  options.should_stop = stop_requested;

  // PyTorch, and what the tasks import, once for all of them.
  std::optional<verifier::TorchLender> lender;
  if (!elsewhere)
    options.before_all = [&](const std::vector<agents::BenchTask>& todo) {
      if (todo.size() < 2) return;
      std::vector<fs::path> files;
      for (const agents::BenchTask& task : todo) files.push_back(task.path);
      if (auto lent = verifier::TorchLender::start(command.python, files)) lender.emplace(*std::move(lent));
    };

  Result<agents::BenchRun> run = work_error("", "");
  std::vector<std::string> notices;  // of workers
  std::optional<Error> left_alone;
  {
    std::unique_ptr<serve::FanOut> workers;
    Progress progress(console.err, console.err_terminal, console.json, "optimizing",
                      std::ssize(options.tasks));
    RunningTasks running(progress);
    if (elsewhere) {
      // A task that waits for a worker is not running.
      serve::FanOutOptions how;
      how.on_running = [&](const std::string& task, bool now) {
        now ? running.start(task) : running.end(task);
      };
      how.on_notice = [&](std::string_view text) { progress.say(text), notices.emplace_back(text); };
      STITCH_TRY(workers, start_workers(command, cuda, options, std::move(how)));
    } else {
      options.on_start = [&](const agents::BenchTask& task) { running.start(task.name); };
    }
    options.on_end = [&](const agents::BenchTask& task) { running.end(task.name); };
    options.on_done = [&](const agents::BenchTask& task, const Json& record) {
      progress.advance();
      if (!record.at("passed").get<bool>())
        progress.say(format("{}: {}: {}", task.name, word(record, "code"), word(record, "reason")));
    };
    run = agents::run_bench(options);
    if (workers) left_alone = workers->over();
    workers.reset();  // while its messages can still be shown
  }
  if (!run) return std::move(run).error();
  const auto passed_now = std::ranges::count_if(
      run->records, [](const auto& record) { return record && record->at("passed").template get<bool>(); });
  Json others = Json::object();
  keep_others(run->records, options, command.numerics, cuda, others);
  for (auto& record : run->records)
    if (record) {
      Json more = *record;
      agents::add_known(known, more);
      record = std::make_shared<const Json>(std::move(more));
    }
  Json summary = agents::summarise(run->records);
  summary["run"] = circumstances(command, gpu, cuda, summary["tasks"]);
  summary["run"]["stopped"] = run->stopped;
  if (!notices.empty()) summary["run"]["workers"] = notices;
  summary["run"]["from_earlier_runs"] = run->earlier;
  summary["run"].update(others);
  link_reports(summary["tasks"], options.out);
  Warnings warnings(console);
  warn_of_training(run->records, warnings);
  warnings.add_to(summary);
  summary["notes"] = notes_on_bench(summary);
  const std::string text = document_text(summary);
  STITCH_CHECK(write_file(options.out / "summary.json", text));
  STITCH_CHECK(write_file(options.out / "index.html", page(View::bench, summary)));
  for (const char* file : written) STITCH_CHECK(add_to_record(options.out, file));
  if (console.json)
    console.out << text;
  else
    console.out << bench_text(summary, console.out_terminal)
                << format("{}: index.html, summary.json, tasks.jsonl, programs/\n", command.out);
  if (left_alone) return *left_alone;
  return passed_now == std::ssize(options.tasks) ? 0 : 1;
}

}  // namespace

Run add_bench(CLI::App& app) {
  const auto bench = std::make_shared<BenchCommand>();
  Flags flags(app, "bench", "Optimize many tasks and summarise");
  flags("TASKS", bench->paths, "folders of .py tasks, or the tasks themselves").required();
  flags("-o,--out", bench->out, "FOLDER",
        "the results folder; resumes an interrupted run, keeps other tasks' results")
      .required();
  flags.device(bench->device);
  flags.numerics(bench->numerics);
  flags.baselines(bench->baselines);
  flags("--known-baselines", bench->known_baselines, "FILE",
        "baselines measured earlier, one JSON line per task; others are timed only with --baselines");
  flags("--jobs", bench->jobs, "NUMBER",
        "how many tasks to run at once; only one is timed at a time (default: one per four cores)")
      .between(1, 256);
  flags("--budget", bench->budget, "SECONDS",
        "seconds of planning, building and judging per task, as of optimize (default: 40)")
      .between(1, 86400);
  flags("--deadline", bench->deadline, "SECONDS",
        "wall time per task in seconds after which its best program so far is written (default: none)")
      .between(1, 86400);
  flags("--time-limit", bench->time_limit, "SECONDS", "seconds after which a task is stopped (default: 3600)")
      .between(1, 86400);
  flags("--no-timing", bench->no_timing, "verify without timing; choose by estimates");
  flags("--quick", bench->quick, "check the final program with two seeds and fewer gates");
  flags.compatible(bench->compatible);
  flags("--coder-weights", bench->coder_weights, "FILE",
        "try the compact Coder's choices as the last step: sm_90, or weights of train");
  flags("--no-tune", bench->no_tune,
        "skip tuning settings on the GPU after the steps (tuning takes at most a third of the budget)");
  flags("--recall", bench->recall,
        "start each task's plan from what earlier runs found (default: ignore them)");
  flags.store(bench->store);
  flags.group("Language models");
  add_brains(flags, *bench, "over all tasks, in equal shares");
  flags.group("");
  add_cluster(flags, bench->cluster);
  flags.python(bench->python, "the Python to use for the tasks");
  flags.mode(bench->mode);
  flags.force(bench->force);
  flags.json();
  flags.examples(
      "stitchcuda bench examples -o build/bench\n"
      "stitchcuda bench KernelBench/level1 KernelBench/level2 -o out/ --jobs 8 --known-baselines "
      "earlier.jsonl\n"
      "stitchcuda bench KernelBench/level2 -o out/ --coder llm:openai/MODEL --max-dollars 20\n"
      "stitchcuda bench KernelBench/level3 -o out/ --device cuda --on slurm --workers 8");
  return [bench](Console& console) { return run_bench(*bench, console); };
}

}  // namespace stitch
