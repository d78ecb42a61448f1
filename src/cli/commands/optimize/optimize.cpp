#include "cli/commands/optimize/optimize.h"

#include "cli/commands/commands.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "agents/loop/measured_gain.h"
#include "agents/optimize.h"
#include "base/error_codes.h"
#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/commands/judge/verify.h"
#include "cli/commands/optimize/optimize_summary.h"
#include "cli/commands/optimize/optimize_view.h"
#include "cli/commands/runs.h"
#include "cli/flags/model_options.h"
#include "cli/load_model.h"
#include "cli/output_place.h"
#include "cli/pages/page.h"
#include "learn/coder/propose.h"
#include "program/package.h"

namespace stitch {

namespace {

// What the budget cut off, and how to get it: a budget for all of it, at the pace of what was tried.
Json cut_off_json(const agents::Optimized& optimized, int budget) {
  const std::vector<std::string> steps = agents::cut_off(optimized.ledger);
  if (steps.empty()) return nullptr;
  const auto tried = static_cast<double>(optimized.ledger.entries.size() - steps.size());
  const double needed = optimized.seconds * (1 + static_cast<double>(steps.size()) / std::max(tried, 1.0));
  return {{"budget_seconds", budget}, {"not_tried", steps}, {"try_budget", std::ceil(needed / 10) * 10}};
}

std::string cut_off_text(const Json& cut_off) {
  return format("The budget of {} s was spent before these steps were tried: {}.\nTo try them: --budget {}\n",
                cut_off["budget_seconds"].get<int>(),
                join(cut_off["not_tried"].get<std::vector<std::string>>(), ", "),
                cut_off["try_budget"].get<int>());
}

// "coder: 3 requests, 41,000 tokens, $0.12": a line for people.
std::string llm_account_text(const Json& llm) {
  std::string out;
  for (const auto& [agent, spent] : llm.items()) {
    if (agent == "total") continue;
    const Json usage = spent.value("usage", Json::object());
    const int requests = spent.value("requests", 0);
    out += format("{}: {} request{}, {} tokens", agent, requests, requests == 1 ? "" : "s",
                  usage.value("input", 0) + usage.value("output", 0));
    if (const double dollars = spent.value("dollars", 0.0); dollars > 0) out += format(", ${:.2f}", dollars);
    out += '\n';
  }
  return out;
}

// The page with the program's sources beside the model's lines; where it is written.
Result<std::string> write_page(const OptimizeCommand& command, const Published& published, Json run) {
  if (auto package = load_package(published.folder)) {
    run["sources"] = sources_of(*package);
    for (Json& region : run["regions"])
      for (const ManifestRegion& own : package->manifest.regions)
        if (own.name == word(region, "name")) region["file"] = own.file;
  }
  const std::string text = page(View::optimize, run);
  if (!command.html.empty()) {
    STITCH_CHECK(write_output_file(command.html, text, overwrite_if(command.force)));
    return command.html;
  }
  STITCH_CHECK(write_file(published.folder / "report.html", text));
  STITCH_CHECK(add_to_record(published.folder, "report.html"));
  return (fs::path(place_of(published, command.out)) / "report.html").string();
}

// --exit-slower is no use where nothing is timed beside PyTorch.
Result<void> check_comparison(const OptimizeCommand& command, bool cuda,
                              const std::vector<std::string>& baselines) {
  if (!command.exit_slower) return {};
  if (!cuda)
    return user_error("exit_slower", "--exit-slower needs times, and the emulated GPU has none",
                      "run it on a machine with a GPU");
  if (command.no_timing || baselines.empty())
    return user_error("exit_slower", "--exit-slower needs PyTorch's times",
                      "leave out --no-timing and --baselines none");
  return {};
}

std::optional<agents::Recording> recording_of(const OptimizeCommand& command) {
  const fs::path store = store_file(command.store);
  if (store.empty()) return std::nullopt;
  return agents::Recording{.store = store,
                           .resume = command.resume,
                           .options = record_of(command),
                           .version = STITCH_VERSION,
                           .memory = !command.no_recall};
}

Result<agents::OptimizeOptions> optimize_options(const OptimizeCommand& command) {
  agents::OptimizeOptions options;
  options.model = command.model;
  options.out = command.out;
  options.overwrite = overwrite_if(command.force);
  STITCH_CHECK(check_task_file(command.model));
  if (!command.html.empty()) STITCH_CHECK(check_output_file(command.html, options.overwrite));
  STITCH_TRY(options.numerics, parse_numerics(command.numerics));
  STITCH_TRY(options.device, choose_device(command.device));
  const bool cuda = options.device == runner::Device::cuda;
  STITCH_TRY(options.gpu, choose_gpu(command.gpu));
  const std::string beside = cuda && !command.no_timing ? "all" : "none";
  STITCH_TRY(options.baselines, baselines_named(command.baselines == "auto" ? beside : command.baselines));
  STITCH_CHECK(check_comparison(command, cuda, options.baselines));
  options.task = {.model_class = command.model_class,
                  .mode = command.mode,
                  .python = command.python,
                  .algebra = command.compatible.empty(),
                  .dynamic = command.dynamic};
  if (!command.plan.empty()) {
    STITCH_TRY(Json document, load_plan_file(command.plan));
    options.plan = std::make_shared<const Json>(std::move(document));
    options.plan_source = command.plan;
  }
  if (!command.coder_weights.empty()) {
    STITCH_TRY(const learn::Committee coder, learn::load_coder(command.coder_weights));
    options.around_planner = [coder](std::unique_ptr<agents::Planner> planner) {
      return learn::learned_planner(std::move(planner), coder);
    };
  }
  options.budget = std::chrono::seconds(command.budget);
  options.brains = {command.planner, command.coder, command.verifier};
  STITCH_TRY(options.llm, llm_options(command));
  options.llm.record = command.record;
  options.llm.replay = command.replay;
  options.deadline = std::chrono::seconds(command.deadline);
  options.pytorch_seconds = command.pytorch_seconds;
  options.measured_ledger = command.ledger == "measured";
  options.timing = !command.no_timing;
  STITCH_TRY(options.weights, parse_ship_weights(command.weights));
  options.quick = command.quick;
  STITCH_TRY(const plan::ReferenceFacts facts, facts_for(command.compatible, options.numerics));
  options.kernelbench_compatible = facts.as_pytorch;
  options.tune = !command.no_tune;
  options.memory = command.memory;
  options.recording = recording_of(command);
  return options;
}

// The document of --json, without the path of the report page, which is made from it.
Json optimize_document(const OptimizeCommand& command, const agents::OptimizeOptions& options,
                       const agents::Optimized& optimized, const Warnings& warnings) {
  Json json = {{"program", ""},
               {"gpu", options.gpu.name},
               {"seconds", optimized.seconds},
               {"first_seconds", optimized.first_seconds},
               {"budget_extended", optimized.budget_extended},
               {"own_seconds", optimized.own_seconds},
               {"seconds_a_call", optimized.seconds_a_call},
               {"floor_seconds", optimized.floor},
               {"stopped", optimized.stopped},
               {"ledger", to_json(optimized.ledger)},
               {"verdict", to_json(optimized.verdict)},
               {"gates", verifier::gates_text(optimized.verdict)}};
  if (!optimized.published.folder.empty())
    json.update(honesty_of(optimized.published.folder, optimized.verdict, {}));
  add_place(json, "program", optimized.published, command.out);
  warnings.add_to(json);
  if (optimized.regions) json["regions"] = *optimized.regions;
  if (optimized.cost) json["cost"] = *optimized.cost;
  json["predicted_seconds"] = optimized.predicted_seconds;
  if (optimized.llm) json["llm"] = *optimized.llm;
  if (optimized.tuning) json["tuning"] = *optimized.tuning;
  if (optimized.time) json["time"] = *optimized.time;
  if (!optimized.run.empty()) json["run"] = optimized.run;
  if (!optimized.verdict.library.empty()) json["library"] = optimized.verdict.library.string();
  if (Json cut_off = cut_off_json(optimized, command.budget); !cut_off.is_null())
    json["cut_off"] = std::move(cut_off);
  add_summary(json);
  return json;
}

void print_result(const OptimizeCommand& command, const agents::OptimizeOptions& options,
                  const agents::Optimized& optimized, const Json& json, Console& console) {
  console.out << table(optimized.ledger, console.out_terminal) << '\n'
              << table(optimized.verdict, console.out_terminal) << '\n';
  if (options.device != runner::Device::cuda) console.out << "Times are estimates: this run had no GPU.\n";
  if (json.contains("cut_off")) console.out << cut_off_text(json["cut_off"]);
  if (optimized.llm) console.out << llm_account_text(*optimized.llm);
  if (optimized.stopped) console.out << "Interrupted: saved the best program; quick checks only.\n";
  const std::string program = place_of(optimized.published, command.out);
  console.out << said_of(optimized.published, command.out)
              << format("{}: done in {}{}\n", program, seconds_text(optimized.seconds),
                        optimized.run.empty() ? "" : format(" (stitchcuda runs show {})", optimized.run))
              << (optimized.time ? format("  {}\n", agents::time_text(*optimized.time)) : "")
              << summary_text(json, {command.model, program, json["report"].get<std::string>()},
                              console.out_terminal);
}

}  // namespace

Result<int> run_optimize(const OptimizeCommand& command, Console& console) {
  STITCH_TRY(agents::OptimizeOptions options, optimize_options(command));
  StopPolitely polite;
  options.should_stop = stop_requested;
  Warnings warnings(console);
  Result<agents::Optimized> optimized = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "optimizing");
    OptimizeView view(progress, warnings, options.budget);
    options.events = &view;
    // The loop stops by itself; before it there is nothing to save, and PyTorch takes its time.
    const EndChildrenWhen given_up([&] { return stop_requested() && !view.has_steps(); });
    optimized = agents::optimize(options);
    if (!optimized && stop_requested() && !view.has_steps())
      return work_error(error_code::stopped, "stopped before a first program had passed");
  }
  if (!optimized) return std::move(optimized).error();
  Json json = optimize_document(command, options, *optimized, warnings);
  STITCH_TRY(const std::string report, write_page(command, optimized->published, json));
  json["report"] = report;
  const Standing standing = standing_of(json);
  if (console.json)
    console.out << document_text(json);
  else
    print_result(command, options, *optimized, json, console);
  if (command.exit_slower && (standing.best <= 0 || standing.slower())) return 1;
  return optimized->verdict.passed() ? 0 : 1;
}

Run add_optimize(CLI::App& app) {
  const auto optimize = std::make_shared<OptimizeCommand>();
  Flags flags(app, "optimize", "Turn a model into a verified, faster CUDA program");
  flags("MODEL", optimize->model, "a .py file with Model, get_inputs() and get_init_inputs()").required();
  flags("-o,--out", optimize->out, "FOLDER", "the program's folder").required();
  flags.numerics(optimize->numerics);
  flags("--budget", optimize->budget, "SECONDS",
        "seconds of planning, building and judging; waiting for the GPU is not counted, and the first "
        "program is always finished (default: 40)")
      .between(1, 86400);
  flags("--deadline", optimize->deadline, "SECONDS",
        "wall time in seconds after which the best program so far is written (default: none)")
      .between(1, 86400);
  flags.device(optimize->device);
  flags.gpu(optimize->gpu, "the GPU to write it for");
  flags("--baselines", optimize->baselines, "LIST",
        "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none");
  flags("--pytorch-seconds", optimize->pytorch_seconds, "SECONDS",
        "a call of the best PyTorch, measured earlier: a slower program gets twice the budget")
      .between(1e-9, 1e6);
  flags("--weights", optimize->weights, "WHEN",
        "put the model's weights into the folder: auto (up to 256 MB), always or never (default: auto)");
  flags("--html", optimize->html, "FILE",
        "where to write the report page (default: report.html in the output folder)");
  const Flag plan = flags("--plan", optimize->plan, "FILE",
                          "verify and tune this plan instead of searching for one (see plan -o)");
  flags("--coder-weights", optimize->coder_weights, "FILE",
        "try the compact Coder's choices as the last step: sm_90, or weights of train")
      .excludes(plan);
  flags("--ledger", optimize->ledger, "HOW",
        "what each step gained: estimated by the cost model, or measured without it (default: estimated)")
      .one_of({"estimated", "measured"});
  flags("--no-timing", optimize->no_timing, "verify without timing; choose by estimates");
  flags("--quick", optimize->quick, "check the final program with one seed and fewer gates");
  flags.compatible(optimize->compatible);
  flags("--no-tune", optimize->no_tune,
        "skip tuning settings on the GPU after the steps (tuning takes at most a third of the budget)");
  flags("--exit-slower", optimize->exit_slower,
        "exit with 1 if the program isn't faster than the best PyTorch baseline (needs a GPU)");
  flags("--memory", optimize->memory, "FACTOR",
        "how much of PyTorch's peak memory the program may take, as a factor (default: 1)")
      .between(0.1, 100.0);
  flags("--no-recall", optimize->no_recall, "ignore what earlier runs found");
  flags.store(optimize->store);
  flags.model_class(optimize->model_class, "the class to import");
  flags.dynamic(optimize->dynamic);
  flags.python(optimize->python, "the Python to use for the task");
  flags.group("Language models");
  add_brains(flags, *optimize, "over all models");
  flags("--record", optimize->record, "FILE",
        "append every request and answer to this file; keys are left out");
  flags("--replay", optimize->replay, "FILE",
        "answer from a file that --record wrote instead of calling a model");
  flags.group("");
  flags.mode(optimize->mode);
  flags.force(optimize->force);
  flags.json();
  flags.examples(
      "stitchcuda optimize examples/lenet5.py -o lenet5/\n"
      "stitchcuda optimize model.py -o program/ --numerics tf32 --budget 600\n"
      "stitchcuda optimize model.py -o program/ --dynamic batch=x:0=1..64\n"
      "stitchcuda optimize model.py --plan plan.json -o program/\n"
      "stitchcuda optimize model.py -o program/ --coder llm:ollama/qwen2.5-coder --coder-style agent");
  return [optimize](Console& console) { return run_optimize(*optimize, console); };
}

}  // namespace stitch
