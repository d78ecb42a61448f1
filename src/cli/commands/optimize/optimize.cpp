#include "cli/commands/optimize/optimize.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "agents/loop/measured_gain.h"
#include "agents/optimize.h"
#include "base/error_codes.h"
#include "base/file.h"
#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/judge/verify.h"
#include "cli/commands/optimize/optimize_view.h"
#include "cli/commands/runs.h"
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
Result<void> check_comparison(const OptimizeCommand& command, const verifier::VerifyOptions& options) {
  if (!command.exit_slower) return {};
  if (options.device != runner::Device::cuda)
    return user_error("exit_slower", "--exit-slower needs times, and the emulated GPU has none",
                      "run it on a machine with a GPU");
  if (!options.timing || options.baselines.empty())
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
  STITCH_TRY(const runner::Device device, choose_device(command.device));
  STITCH_CHECK(read_judging(command, device, "all", options));
  STITCH_CHECK(facts_for(command.compatible, options.numerics));
  STITCH_TRY(options.gpu, choose_gpu(command.gpu));
  STITCH_CHECK(check_comparison(command, options));
  options.task = command.task_options;
  options.task.algebra = command.compatible.empty();
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
  options.deadline = std::chrono::seconds(command.deadline);
  options.pytorch_seconds = command.pytorch_seconds;
  options.measured_ledger = command.ledger == "measured";
  STITCH_TRY(options.weights, parse_ship_weights(command.weights));
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
  if (optimized.sizes) json["sizes"] = *optimized.sizes;
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
    const bool ranges =
        options.task.dynamic && (!options.task.dynamic->empty() || declares_sizes(options.model));
    const auto lender = ranges ? lend_for_ranges(options.model, options.task.python, progress) : std::nullopt;
    optimized = agents::optimize(options);
    if (!optimized && stop_requested() && !view.has_steps())
      return work_error(error_code::stopped, "stopped before a first program had passed",
                        "run the same command again; nothing was written");
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
  flags.baselines(optimize->baselines);
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
  flags("--quick", optimize->quick, "check the final program with two seeds and fewer gates");
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
  flags.task(optimize->task_options);
  flags.group("Language models");
  add_brains(flags, *optimize, "over all models");
  add_transcripts(flags, *optimize);
  flags.group("");
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

namespace {

std::string absolute(const std::string& path) {
  std::error_code ec;
  const fs::path whole = fs::absolute(path, ec);
  return path.empty() || ec ? path : whole.lexically_normal().string();
}

// Every member that a run depends on, once: written and read by the same list.
template <class Command, class Visit>
void each_member(Command& command, const Visit& visit) {
  visit("model", command.model);
  visit("out", command.out);
  visit("force", command.force);
  visit("numerics", command.numerics);
  visit("device", command.device);
  visit("gpu", command.gpu);
  visit("plan", command.plan);
  visit("coder_weights", command.coder_weights);
  visit("baselines", command.baselines);
  visit("class", command.task_options.model_class);
  visit("dynamic", *command.task_options.dynamic);
  visit("python", command.task_options.python);
  visit("html", command.html);
  visit("weights", command.weights);
  visit("budget", command.budget);
  visit("deadline", command.deadline);
  visit("pytorch_seconds", command.pytorch_seconds);
  visit("ledger", command.ledger);
  visit("no_timing", command.no_timing);
  visit("quick", command.quick);
  visit("compat", command.compatible);
  visit("no_tune", command.no_tune);
  visit("no_recall", command.no_recall);
  visit("memory", command.memory);
  visit("exit_slower", command.exit_slower);
  visit("planner", command.planner);
  visit("coder", command.coder);
  visit("verifier", command.verifier);
  visit("coder_style", command.coder_style);
  visit("llm_regions", command.llm_regions);
  visit("llm_samples", command.llm_samples);
  visit("llm_rounds", command.llm_rounds);
  visit("llm_budget", command.llm_budget);
  visit("whole_program", command.whole_program);
  visit("max_tokens", command.max_tokens);
  visit("max_dollars", command.max_dollars);
  visit("config", command.config);
  visit("replay", command.replay);
  visit("prompts", command.prompts);
  visit("notes", command.notes);
}

}  // namespace

std::string place_of_coder(const std::string& weights) {
  return weights == learn::shipped_coder ? weights : absolute(weights);
}

std::string record_of(const OptimizeCommand& given) {
  OptimizeCommand command = given;
  for (std::string* path : {&command.model, &command.out, &command.plan, &command.html, &command.config,
                            &command.replay, &command.prompts, &command.notes})
    *path = absolute(*path);
  command.coder_weights = place_of_coder(command.coder_weights);
  Json json = {{"mode", name(command.task_options.mode)}};
  each_member(command, [&](const char* key, const auto& value) { json[key] = value; });
  return line_text(json);
}

Result<OptimizeCommand> read_command(const std::string& record) {
  STITCH_TRY(Json json, parse_json(record));
  OptimizeCommand out;
  try {
    each_member(out, [&](const char* key, auto& value) {
      if (auto found = json.find(key); found != json.end()) found->get_to(value);
    });
  } catch (const std::exception& error) {
    return work_error("store_damaged", format("the run's settings can't be read: {}", error.what()));
  }
  if (auto mode = parse_mode(word(json, "mode"))) out.task_options.mode = *mode;
  if (out.model.empty()) return work_error("store_damaged", "the run has no model recorded");
  return out;
}

}  // namespace stitch
