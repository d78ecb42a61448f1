#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/json.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "gpu/gpu_lock.h"
#include "graph/mode.h"
#include "reference/torch_reference.h"

namespace stitch {

namespace {

struct BaselinesCommand {
  std::vector<std::string> tasks;
  std::string baselines = "all";
  std::string numerics = "default";
  std::string python;
  Mode mode = Mode::as_written;
  int calls = 100;
};

using verifier::Samples;
constexpr int rounds = 5;
constexpr int64_t flush_bytes = int64_t{256} << 20;

// One process a task: what one leaves behind is not the next one's trouble.
Result<std::vector<Samples>> measure(const std::string& task, const BaselinesCommand& command,
                                     Progress& progress) {
  STITCH_TRY(auto process, verifier::TorchProcess::start(command.python));
  const Task only_its_file{.source = task, .options = {.mode = command.mode}};
  verifier::TaskGraph graph(std::make_shared<const Task>(only_its_file));
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  STITCH_TRY(auto torch, verifier::TorchReference::load(std::move(process), graph, numerics, "cuda"));
  STITCH_TRY(std::vector<std::string> kinds, baselines_named(command.baselines));
  std::vector<Samples> all;
  for (const std::string& kind : kinds) {
    progress.detail(format("{}: preparing {}", fs::path(task).stem().string(), kind));
    auto prepared = torch->prepare_baseline(kind, 1);
    all.push_back(prepared ? *std::move(prepared)
                           : Samples{.side = kind, .unavailable = prepared.error().message});
  }
  progress.detail("waiting for other processes to finish timing");
  STITCH_TRY(GpuLock alone, GpuLock::take());
  for (int round = 0; round < rounds; ++round)
    for (Samples& samples : all) {
      if (!samples.unavailable.empty()) continue;
      progress.detail(
          format("{}: {}, round {} of {}", fs::path(task).stem().string(), samples.side, round + 1, rounds));
      STITCH_CHECK(torch->time_baseline(samples, std::max(1, command.calls / rounds), flush_bytes,
                                        static_cast<uint64_t>(round)));
    }
  return all;
}

Result<int> run_baselines(const BaselinesCommand& command, Console& console) {
  for (const std::string& task : command.tasks) STITCH_CHECK(check_task_file(task));
  STITCH_CHECK(baselines_named(command.baselines));
  if (auto device = choose_device("cuda"); !device)
    return user_error(error_code::no_gpu, device.error().message,
                      "baselines are timed on a GPU: run this on a machine that has one");
  Table table({{.header = "task", .cut = Cut::start, .least = 20},
               {.header = "baseline"},
               {.header = "wall", .align = Column::Align::right},
               {.header = "spread", .align = Column::Align::right},
               {.header = "events", .align = Column::Align::right},
               {.header = "", .least = 10, .optional = 1}});
  Json tasks = Json::array();
  {
    Progress progress(console.err, console.err_terminal, console.json, "measuring",
                      std::ssize(command.tasks));
    for (const std::string& task : command.tasks) {
      STITCH_TRY(std::vector<Samples> all, measure(task, command, progress));
      Json json = {{"task", task}, {"baselines", Json::array()}};
      for (const Samples& samples : all) {
        json["baselines"].push_back(to_json(samples, false));
        bool there = samples.unavailable.empty();
        table.add_row({fs::path(task).stem().string(),
                       samples.side,
                       there ? seconds_text(samples.median()) : "–",
                       there ? format("{:.1f} %", 100 * samples.spread()) : "",
                       there ? seconds_text(samples.event_median()) : "",
                       {samples.unavailable, Style::dim}});
      }
      tasks.push_back(std::move(json));
      progress.advance();
    }
  }
  if (console.json)
    console.out << document_text(Json{{"tasks", tasks}});
  else
    console.out << table.render(console.out_terminal);
  return 0;
}

}  // namespace

Run add_baselines(CLI::App& app) {
  const auto baselines = std::make_shared<BaselinesCommand>();
  Flags flags(app, "baselines", "Time PyTorch's baselines on the GPU");
  flags("TASK", baselines->tasks, "one or more .py tasks").required();
  flags("--baselines", baselines->baselines, "LIST",
        "eager,eager-graph,compile,compile-graph (default: all)");
  flags.numerics(baselines->numerics);
  flags("--calls", baselines->calls, "NUMBER", "timed calls of each baseline (default: 100)")
      .between(5, 100000);
  flags.python(baselines->python, "the Python to use");
  flags.mode(baselines->mode);
  flags.json();
  flags.examples("stitchcuda baselines model.py --baselines compile,compile-graph");
  return [baselines](Console& console) { return run_baselines(*baselines, console); };
}

}  // namespace stitch
