#include "cli/run_cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/baselines.h"
#include "cli/bench.h"
#include "cli/calibrate.h"
#include "cli/code.h"
#include "cli/doctor.h"
#include "cli/import.h"
#include "cli/init.h"
#include "cli/llm.h"
#include "cli/mcp.h"
#include "cli/memory.h"
#include "cli/model_options.h"
#include "cli/notes.h"
#include "cli/optimize.h"
#include "cli/package.h"
#include "cli/plan.h"
#include "cli/profile.h"
#include "cli/prompts.h"
#include "cli/runs.h"
#include "cli/show.h"
#include "cli/verify.h"

namespace stitch {

namespace {

struct Options {
  ImportOptions import;
  ShowOptions show;
  VerifyCommand verify;
  ReceiptCommand receipt;
  PackageCommand package;
  BaselinesCommand baselines;
  CodeCommand code;
  PlanCommand plan;
  OptimizeCommand optimize;
  BenchCommand bench;
  CalibrateCommand calibrate;
  NotesCommand notes;
  PromptsCommand prompts;
  McpCommand mcp;
  LlmCommand llm;
  ProfileCommand profile;
  RunsCommand runs;
  MemoryCommand memory;
  InitCommand init;
  bool json = false;  // read before the parse, so that its errors are JSON too
};

void add_json(CLI::App& command, Options& options) {
  command.add_flag("--json", options.json, "print one JSON document, errors included");
}

void add_force(CLI::App& command, bool& force) {
  command.add_flag("--force", force,
                   "write where there is something already: other files are kept, edited ones saved as "
                   "NAME.edited");
}

void add_store(CLI::App& command, std::string& store) {
  command
      .add_option("--store", store,
                  "the file that runs are kept in; none: they are not (default: $STITCHCUDA_STORE, else "
                  "~/.local/share/stitchcuda/runs.db)")
      ->type_name("FILE");
}

void add_import(CLI::App& app, Options& options) {
  ImportOptions& import = options.import;
  CLI::App& command = *app.add_subcommand("import", "Turn Python models into graphs");
  command
      .add_option("MODEL", import.paths,
                  "one or more .py files with Model, get_inputs() and get_init_inputs()")
      ->required();
  command
      .add_option("-o,--out", import.out,
                  "the graph folder to write; with several models, the folder for theirs")
      ->type_name("FOLDER");
  command.add_option("--class", import.model_class, "the class to import, instead of Model")
      ->type_name("NAME");
  add_mode(command, import.mode);
  command.add_option("--seed", import.seed, "seed of weights and inputs (default: 42)")->type_name("NUMBER");
  command.add_flag("--all", import.all, "MODEL are folders: import every .py file below them");
  command.add_flag("!--no-weights", import.weights, "write the graph alone, without weights.safetensors");
  command.add_option("--jobs", import.jobs, "how many models to import at once (default: one per core)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--python", import.python,
                  "the Python to use (default: the one that stitchcuda doctor shows)")
      ->type_name("PATH");
  add_force(command, import.force);
  add_json(command, options);
  command.footer(
      "stitchcuda import model.py -o graph/\n"
      "stitchcuda import model.py --class ResNet --eval -o graph/\n"
      "stitchcuda import --all KernelBench/level1 -o graphs/ --jobs 8");
}

void add_show(CLI::App& app, Options& options) {
  ShowOptions& show = options.show;
  CLI::App& command =
      *app.add_subcommand("show", "Show a model's graph, its costs and its theoretical limit");
  command.add_option("MODEL", show.model, "a .py file, a graph folder, or a graph.txt")->required();
  command.add_option("--gpu", show.gpu, "the GPU to estimate for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command.add_option("--html", show.html, "write a page with the graph as a picture")->type_name("FILE");
  command.add_flag("--text", show.text, "print the graph itself, as graph.txt holds it");
  command.add_flag("--ops", show.ops, "list every node, not only the heaviest");
  command.add_option("--class", show.model_class, "the class to import, instead of Model")->type_name("NAME");
  add_mode(command, show.mode);
  command.add_option("--python", show.python, "the Python to use for a .py file")->type_name("PATH");
  add_force(command, show.force);
  add_json(command, options);
  command.footer(
      "stitchcuda show model.py\n"
      "stitchcuda show graph/ --gpu \"RTX 4090\" --ops\n"
      "stitchcuda show model.py --html model.html");
}

void add_verify(CLI::App& app, Options& options) {
  VerifyCommand& verify = options.verify;
  CLI::App& command = *app.add_subcommand("verify", "Check a program against its task and time it");
  command.add_option("PROGRAM", verify.program, "a program folder, a .cu file, or a .py file with ModelNew")
      ->required();
  command.add_option("--task", verify.task, "what it must compute: a .py file or a graph folder")
      ->type_name("TASK")
      ->required();
  command
      .add_option("--numerics", verify.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--device", verify.device, "cuda or emulated (default: cuda if there is a GPU)")
      ->type_name("NAME");
  command
      .add_option("--baselines", verify.baselines,
                  "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none")
      ->type_name("LIST");
  command.add_flag("--fresh-baselines", verify.fresh_baselines,
                   "measure baselines even if they are in the cache");
  command.add_flag("--sanitizer", verify.sanitizer,
                   "run compute-sanitizer's memcheck, racecheck and initcheck (GPU only)");
  command.add_flag("--asan", verify.address_sanitizer, "run under AddressSanitizer (emulated GPU only)");
  command.add_flag("--quick", verify.quick,
                   "check with one seed and one set of weights: for work in progress");
  command.add_flag("!--no-timing", verify.timing, "verify without timing");
  command
      .add_option("--compat", verify.compatible,
                  "kernelbench: also require its allclose to accept the result")
      ->type_name("NAME");
  command.add_option("--receipt", verify.receipt, "write a receipt if it passes; implies --sanitizer")
      ->type_name("FILE");
  command.add_option("-o,--out", verify.out, "write the verdict as JSON")->type_name("FILE");
  command.add_option("--seed", verify.seed, "seed of an earlier verdict, to repeat it")->type_name("HEX");
  command
      .add_option("--time-limit", verify.time_limit,
                  "seconds allowed for one call of the program (default: 60)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
  command.add_option("--class", verify.model_class, "the task's class, instead of Model")->type_name("NAME");
  command.add_option("--python", verify.python, "the Python to use for the task")->type_name("PATH");
  add_mode(command, verify.mode);
  add_force(command, verify.force);
  add_json(command, options);
  command.footer(
      "stitchcuda verify examples/programs/layer_norm --task examples/programs/layer_norm/task.py\n"
      "stitchcuda verify program/ --task model.py --baselines all --receipt model.receipt.json\n"
      "stitchcuda verify model_new.py --task model.py --numerics tf32 --json");
}

void add_receipt(CLI::App& app, Options& options) {
  ReceiptCommand& receipt = options.receipt;
  CLI::App& command = *app.add_subcommand("receipt", "Repeat a verified result from its receipt");
  command.add_option("ACTION", receipt.action, "check")->required();
  command.add_option("RECEIPT", receipt.receipt, "a file that verify --receipt wrote")->required();
  command.add_option("--program", receipt.program, "where the program is now")->type_name("PATH");
  command.add_option("--task", receipt.task, "where the task is now")->type_name("PATH");
  command.add_option("--python", receipt.python, "the Python to use for the task")->type_name("PATH");
  add_mode(command, receipt.mode);
  add_json(command, options);
  command.footer("stitchcuda receipt check model.receipt.json");
}

void add_package(CLI::App& app, Options& options) {
  PackageCommand& package = options.package;
  CLI::App& command =
      *app.add_subcommand("package", "Package a program as a folder that builds with CMake and nvcc alone");
  command.add_option("PROGRAM", package.program, "a folder with program.cu")->required();
  command.add_option("--task", package.task, "the task's .py file, to generate model_new.py from")
      ->type_name("FILE");
  command.add_option("--class", package.model_class, "the task's class, instead of Model")->type_name("NAME");
  command.add_option("--gpu", package.gpu, "the GPU that CMake builds for (default: the program's)")
      ->type_name("NAME");
  command.add_option("-o,--out", package.out, "the folder to write")->type_name("FOLDER")->required();
  add_mode(command, package.mode);
  add_force(command, package.force);
  add_json(command, options);
  command.footer("stitchcuda package examples/programs/mlp --task examples/programs/mlp/task.py -o mlp/");
}

void add_baselines(CLI::App& app, Options& options) {
  BaselinesCommand& baselines = options.baselines;
  CLI::App& command = *app.add_subcommand("baselines", "Time PyTorch's baselines on the GPU");
  command.add_option("TASK", baselines.tasks, "one or more .py tasks")->required();
  command
      .add_option("--baselines", baselines.baselines,
                  "eager,eager-graph,compile,compile-graph (default: all)")
      ->type_name("LIST");
  command
      .add_option("--numerics", baselines.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--calls", baselines.calls, "timed calls of each baseline (default: 100)")
      ->type_name("NUMBER")
      ->check(CLI::Range(5, 100000));
  command.add_option("--python", baselines.python, "the Python to use")->type_name("PATH");
  add_mode(command, baselines.mode);
  add_json(command, options);
  command.footer("stitchcuda baselines model.py --baselines compile,compile-graph");
}

void add_plan(CLI::App& app, Options& options) {
  PlanCommand& plan = options.plan;
  CLI::App& command = *app.add_subcommand(
      "plan", "Show how a model would be computed: regions, techniques, steps, estimates");
  command.add_option("MODEL", plan.model, "a .py file, a graph folder, or a graph.txt");
  command.add_option("-o,--out", plan.out, "write the plan as a document, to be edited and used with --plan")
      ->type_name("FILE");
  command.add_option("--plan", plan.plan, "check and show this plan instead of making one")
      ->type_name("FILE");
  command.add_flag("--schema", plan.schema, "print the JSON Schema of plan documents");
  command.add_option("--gpu", plan.gpu, "the GPU to plan for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command
      .add_option("--numerics", plan.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--html", plan.html, "write a page with the graph as a picture, its regions framed")
      ->type_name("FILE");
  command.add_option("--class", plan.model_class, "the class to import, instead of Model")->type_name("NAME");
  command.add_option("--python", plan.python, "the Python to use for a .py file")->type_name("PATH");
  add_mode(command, plan.mode);
  add_force(command, plan.force);
  add_json(command, options);
  command.footer(
      "stitchcuda plan examples/resnet18.py\nstitchcuda plan model.py --gpu H100 --json\n"
      "stitchcuda plan model.py -o plan.json\nstitchcuda code model.py --plan plan.json -o program/");
}

void add_brains(CLI::App& command, OptimizeCommand& optimize) {
  constexpr const char* group = "Language models";
  auto brain = [&](const char* flag, std::string& name, const char* about) {
    command.add_option(flag, name, about)->type_name("BRAIN")->group(group);
  };
  brain("--planner", optimize.planner, "who plans: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  brain("--coder", optimize.coder, "who writes: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  brain("--verifier", optimize.verifier,
        "who explains what the gates found: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  command
      .add_option("--coder-style", optimize.coder_style,
                  "answer: one request a try; agent: with tools and turns (default: answer)")
      ->type_name("STYLE")
      ->group(group);
  command
      .add_option("--llm-regions", optimize.llm_regions,
                  "how many regions an LLM Coder writes, most to gain first (default: 3)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000))
      ->group(group);
  command
      .add_flag("--whole-program", optimize.whole_program, "an LLM Coder writes the whole pass as one source")
      ->group(group);
  command.add_option("--max-tokens", optimize.max_tokens, "tokens that all models may use together")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber)
      ->group(group);
  command.add_option("--max-dollars", optimize.max_dollars, "dollars that all models may cost together")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber)
      ->group(group);
  auto file = [&](const char* flag, std::string& path, const char* about, const char* type) {
    command.add_option(flag, path, about)->type_name(type)->group(group);
  };
  file("--config", optimize.config, "profiles (default: ./stitchcuda.toml, then the user's config.toml)",
       "FILE");
  file("--record", optimize.record, "append every request and answer to this file, never a key", "FILE");
  file("--replay", optimize.replay, "answer from such a file instead of asking anybody", "FILE");
  file("--prompts", optimize.prompts, "prompts of your own (see stitchcuda prompts)", "FOLDER");
  file("--notes", optimize.notes, "notes of your own (see stitchcuda notes)", "FOLDER");
}

void add_optimize(CLI::App& app, Options& options) {
  OptimizeCommand& optimize = options.optimize;
  CLI::App& command = *app.add_subcommand("optimize", "Turn a model into a verified, faster CUDA program");
  command.add_option("MODEL", optimize.model, "a .py file with Model, get_inputs() and get_init_inputs()")
      ->required();
  command.add_option("-o,--out", optimize.out, "the program's folder")->type_name("FOLDER")->required();
  command
      .add_option("--numerics", optimize.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command
      .add_option("--budget", optimize.budget, "seconds after which no new step is started (default: 180)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command.add_option("--device", optimize.device, "cuda or emulated (default: cuda if there is a GPU)")
      ->type_name("NAME");
  command
      .add_option("--gpu", optimize.gpu, "the GPU to write it for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command
      .add_option("--baselines", optimize.baselines,
                  "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none")
      ->type_name("LIST");
  command
      .add_option("--html", optimize.html,
                  "where to write the report page (default: report.html in the output folder)")
      ->type_name("FILE");
  auto* plan = command.add_option("--plan", optimize.plan,
                                  "verify and tune this plan instead of searching for one (see plan -o)");
  plan->type_name("FILE");
  command
      .add_flag("--direct", optimize.direct, "try all steps at once, and drop steps until the program passes")
      ->excludes(plan);
  command.add_flag("--first", optimize.first, "--direct, and stop at the first program that passes")
      ->excludes(plan);
  command.add_flag("--no-timing", optimize.no_timing, "verify without timing; choose by estimates");
  command.add_flag("--quick", optimize.quick, "check the final program with one seed and fewer gates");
  command.add_flag(
      "--no-tune", optimize.no_tune,
      "skip tuning settings on the GPU after the steps (tuning takes at most a third of the budget)");
  command.add_flag("--no-memory", optimize.no_memory,
                   "plan as if nothing had been tried before, whatever earlier runs found");
  add_store(command, optimize.store);
  command.add_option("--class", optimize.model_class, "the class to import, instead of Model")
      ->type_name("NAME");
  command.add_option("--python", optimize.python, "the Python to use for the task")->type_name("PATH");
  add_brains(command, optimize);
  add_mode(command, optimize.mode);
  add_force(command, optimize.force);
  add_json(command, options);
  command.footer(
      "stitchcuda optimize examples/lenet5.py -o lenet5/\nstitchcuda optimize model.py -o program/ "
      "--numerics tf32 --budget 600\nstitchcuda optimize model.py --plan plan.json -o program/\n"
      "stitchcuda optimize model.py -o program/ --coder llm:ollama/qwen2.5-coder --coder-style agent");
}

void add_calibrate(CLI::App& app, Options& options) {
  CalibrateCommand& calibrate = options.calibrate;
  CLI::App& command =
      *app.add_subcommand("calibrate", "Fit the cost model to a GPU from measured runs of bench");
  command.add_option("RUNS", calibrate.runs, "folders that bench wrote on the GPU, or their tasks.jsonl")
      ->required();
  command.add_option("--gpu", calibrate.gpu, "the GPU they ran on (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command
      .add_option("-o,--out", calibrate.out,
                  "the file to write (default: where plan, optimize and bench look for it)")
      ->type_name("FILE");
  add_force(command, calibrate.force);
  add_json(command, options);
  command.footer(
      "stitchcuda bench KernelBench/level1 -o runs/ && stitchcuda calibrate runs/\n"
      "stitchcuda calibrate runs/ --gpu H200 -o h200.json");
}

void add_bench(CLI::App& app, Options& options) {
  BenchCommand& bench = options.bench;
  CLI::App& command = *app.add_subcommand("bench", "Optimize many tasks and summarise");
  command.add_option("TASKS", bench.paths, "folders of .py tasks, or the tasks themselves")->required();
  command.add_option("-o,--out", bench.out, "the folder of results; an interrupted run resumes there")
      ->type_name("FOLDER")
      ->required();
  command.add_option("--device", bench.device, "cuda or emulated (default: cuda if there is a GPU)")
      ->type_name("NAME");
  command
      .add_option("--numerics", bench.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command
      .add_option("--baselines", bench.baselines,
                  "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none")
      ->type_name("LIST");
  command
      .add_option(
          "--known-baselines", bench.known_baselines,
          "baselines measured earlier, one JSON line per task; others are timed only with --baselines")
      ->type_name("FILE");
  command
      .add_option("--jobs", bench.jobs,
                  "how many tasks to run at once; timing takes turns (default: one per four cores)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 256));
  command
      .add_option("--budget", bench.budget,
                  "seconds per task after which no new step is started (default: 180)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command
      .add_option("--time-limit", bench.time_limit, "seconds after which a task is stopped (default: 3600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command.add_flag("--direct", bench.direct,
                   "try all steps at once, and drop steps until the program passes");
  command.add_flag("--first", bench.first, "--direct, and stop at the first program that passes");
  command.add_flag("--no-timing", bench.no_timing, "verify without timing; choose by estimates");
  command.add_flag("--quick", bench.quick, "check the final program with one seed and fewer gates");
  command.add_flag(
      "--no-tune", bench.no_tune,
      "skip tuning settings on the GPU after the steps (tuning takes at most a third of the budget)");
  command.add_flag("--memory", bench.memory,
                   "start each task's plan from what earlier runs found (default: as if there were none)");
  add_store(command, bench.store);
  command.add_option("--python", bench.python, "the Python to use for the tasks")->type_name("PATH");
  add_mode(command, bench.mode);
  add_force(command, bench.force);
  add_json(command, options);
  command.footer(
      "stitchcuda bench examples -o build/bench\nstitchcuda bench KernelBench/level1 KernelBench/level2 -o "
      "out/ "
      "--jobs 8 --known-baselines earlier.jsonl");
}

void add_runs(CLI::App& app, Options& options) {
  RunsCommand& runs = options.runs;
  CLI::App& command = *app.add_subcommand("runs", "List, show, compare, resume and export runs of optimize");
  command.add_option("ACTION", runs.action, "list, show, diff, resume, export, page or remove")->required();
  command.add_option("RUN", runs.runs, "the run's id, or a beginning of it that no other run has");
  command.add_option("-o,--out", runs.out, "export: the folder to write (default: run-ID); page: the file")
      ->type_name("PATH");
  command.add_option("--most", runs.most, "how many runs to list; 0: all of them (default: 30)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1000000));
  add_store(command, runs.store);
  add_force(command, runs.force);
  add_json(command, options);
  command.footer(
      "stitchcuda runs list\nstitchcuda runs show 1116-kmtz\nstitchcuda runs resume 1116-kmtz\n"
      "stitchcuda runs diff 1116-k 1115-w\nstitchcuda runs page 1116-kmtz -o run.html");
}

void add_memory(CLI::App& app, Options& options) {
  MemoryCommand& memory = options.memory;
  CLI::App& command = *app.add_subcommand("memory", "Show, export, merge or forget what earlier runs found");
  command.add_option("ACTION", memory.action, "show, export, merge or forget")->required();
  command.add_option(
      "WHAT", memory.what,
      "merge: a file of an export; show and forget: the beginning of a graph's hash or of a kind "
      "of region");
  command.add_option("-o,--out", memory.out, "export: the file to write (default: standard output)")
      ->type_name("FILE");
  add_store(command, memory.store);
  command.add_flag("--force", memory.force, "forget: all of it; export: over a file that is there");
  add_json(command, options);
  command.footer(
      "stitchcuda memory show\nstitchcuda memory export -o memory.jsonl\nstitchcuda memory merge "
      "memory.jsonl\n"
      "stitchcuda memory forget \"conv relu\"");
}

void add_init(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("init", "Write a commented stitchcuda.toml");
  command.add_option("-o,--out", options.init.out, "the file to write (default: stitchcuda.toml)")
      ->type_name("FILE");
  add_json(command, options);
  command.footer("stitchcuda init");
}

void add_code(CLI::App& app, Options& options) {
  CodeCommand& code = options.code;
  CLI::App& command = *app.add_subcommand("code", "Write a CUDA program for a model");
  command.add_option("MODEL", code.model, "a .py file or a graph folder")->required();
  command.add_option("-o,--out", code.out, "the program's folder")->type_name("FOLDER")->required();
  command.add_option("--plan", code.plan, "write the program of this plan instead of making one")
      ->type_name("FILE");
  command.add_flag("--plain", code.plain, "one simple kernel per node: no fusion, no libraries");
  command.add_flag("--rounding", code.rounding, "also store fp16 between convolutions: verify the result");
  command.add_option("--without", code.without, "a step to leave out, by its name in the plan")
      ->type_name("STEP");
  command.add_option("--gpu", code.gpu, "the GPU to write it for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command
      .add_option("--numerics", code.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--class", code.model_class, "the class to import, instead of Model")->type_name("NAME");
  command.add_option("--python", code.python, "the Python to use for a .py file")->type_name("PATH");
  add_mode(command, code.mode);
  add_force(command, code.force);
  add_json(command, options);
  command.footer("stitchcuda code model.py -o program/\nstitchcuda verify program/ --task model.py");
}

void add_notes(CLI::App& app, Options& options) {
  NotesCommand& notes = options.notes;
  CLI::App& command = *app.add_subcommand("notes", "Search notes on making CUDA kernels fast");
  command.add_option("QUESTION", notes.question, "words to look for: bank conflicts, wgmma, slow LSTM");
  command.add_option("--gpu", notes.gpu, "only notes for this GPU or architecture: H200, sm_90, ampere")
      ->type_name("NAME");
  command.add_option("-n", notes.most, "how many notes to print (default: 5)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--list", notes.list, "name all notes");
  command.add_option("--show", notes.show, "print one note")->type_name("NAME");
  command.add_option("--notes", notes.folder, "a folder of more notes, in the same form")
      ->type_name("FOLDER");
  add_json(command, options);
  command.footer(
      "stitchcuda notes bank conflicts\nstitchcuda notes pipelined loads --gpu A100 -n 2\n"
      "stitchcuda notes --show cp-async");
}

void add_prompts(CLI::App& app, Options& options) {
  PromptsCommand& prompts = options.prompts;
  CLI::App& command = *app.add_subcommand("prompts", "Show or check the prompts of LLM brains");
  command.add_option("ACTION", prompts.action, "list, show or check")->required();
  command.add_option("NAME", prompts.name, "show: a prompt; check: a folder of prompts");
  command
      .add_option("--prompts", prompts.folder, "a folder whose prompts take the place of the built-in ones")
      ->type_name("FOLDER");
  add_json(command, options);
  command.footer(
      "stitchcuda prompts list\nstitchcuda prompts show coder_answer\nstitchcuda prompts check my_prompts/");
}

void add_mcp(CLI::App& app, Options& options) {
  McpCommand& mcp = options.mcp;
  CLI::App& command = *app.add_subcommand(
      "mcp", "Serve StitchCUDA's tools to coding agents: the Model Context Protocol on stdio");
  command
      .add_option("--root", mcp.roots,
                  "a folder that tools may read and write, besides the working directory; can be repeated")
      ->type_name("FOLDER");
  command.add_option("--python", mcp.python, "the Python to use for tasks")->type_name("PATH");
  command.add_option("--notes", mcp.notes, "a folder of more notes")->type_name("FOLDER");
  command.add_option("--prompts", mcp.prompts, "a folder whose prompts take the place of the built-in ones")
      ->type_name("FOLDER");
  command.footer(
      "stitchcuda mcp\nclaude mcp add stitchcuda -- stitchcuda mcp --root ~/kernels\n(docs/mcp.md has more)");
}

void add_llm(CLI::App& app, Options& options) {
  LlmCommand& llm = options.llm;
  CLI::App& command = *app.add_subcommand("llm", "List the LLM servers that are known, or ask one");
  command
      .add_option("ACTION", llm.action, "list: the profiles; ask: send a text, to see whether a server works")
      ->required();
  command.add_option("PROFILE", llm.profile, "of ask: PROFILE or PROFILE/MODEL");
  command.add_option("TEXT", llm.text, "of ask: what to say");
  command.add_option("--system", llm.system, "the system prompt")->type_name("TEXT");
  command.add_flag("--stream", llm.stream, "print the answer as it comes");
  command.add_option("--max-tokens", llm.max_tokens, "of the answer (default: the profile's)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 10000000));
  command
      .add_option("--config", llm.config,
                  "the file with [llm.NAME] profiles (default: stitchcuda.toml, then the one in ~/.config)")
      ->type_name("FILE");
  command.add_option("--transcript", llm.transcript, "append the request and the answer as a line of JSON")
      ->type_name("FILE");
  add_json(command, options);
  command.footer(
      "stitchcuda llm list\n"
      "stitchcuda llm ask ollama/qwen2.5-coder \"hello\" --stream\n"
      "OPENAI_API_KEY=… stitchcuda llm ask openai/gpt-5-mini \"hello\" --json");
}

void add_profile(CLI::App& app, Options& options) {
  ProfileCommand& profile = options.profile;
  CLI::App& command = *app.add_subcommand(
      "profile", "Show what a call does on the device, PyTorch's and a program's, and what limits it");
  command.add_option("TARGET", profile.target, "a program folder, a .cu file, or a model's .py file")
      ->required();
  command.add_option("--task", profile.task, "the program's model: a .py file or a graph folder")
      ->type_name("MODEL");
  command.add_option("--program", profile.program, "the model's program: a folder or a .cu file")
      ->type_name("PROGRAM");
  command.add_option("--html", profile.html, "write a page with both timelines, to zoom and pan")
      ->type_name("FILE");
  command.add_option("--trace", profile.trace, "write a trace for chrome://tracing or Perfetto")
      ->type_name("FILE");
  command.add_flag("--counters", profile.counters,
                   "read hardware counters of the hottest kernels with ncu; on the emulated GPU its own");
  command
      .add_option("--nsys", profile.nsys, "also write a report of Nsight Systems, where nsys is installed")
      ->type_name("FILE");
  command
      .add_option("--baseline", profile.baseline,
                  "PyTorch's side: eager, eager-graph, compile, compile-graph or none (default: eager)")
      ->type_name("NAME");
  command
      .add_option("--numerics", profile.numerics,
                  "numerics class of PyTorch's side: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--device", profile.device, "cuda or emulated (default: cuda if there is a GPU)")
      ->type_name("NAME");
  command
      .add_option("--gpu", profile.gpu, "the GPU to estimate for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command.add_option("--class", profile.model_class, "the model's class, instead of Model")
      ->type_name("NAME");
  command.add_option("--python", profile.python, "the Python to use for the model")->type_name("PATH");
  add_mode(command, profile.mode);
  add_force(command, profile.force);
  add_json(command, options);
  command.footer(
      "stitchcuda profile program/ --task model.py --html profile.html\n"
      "stitchcuda profile program/ --counters --trace profile.json\n"
      "stitchcuda profile model.py --baseline compile-graph");
}

void add_doctor(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("doctor", "Show what this machine has and what is missing");
  add_json(command, options);
  command.footer(
      "stitchcuda doctor\n"
      "stitchcuda doctor --json");
}

Result<int> run_command(const std::string& name, const Options& options, Console& console) {
  if (name == "import") return run_import(options.import, console);
  if (name == "show") return run_show(options.show, console);
  if (name == "verify") return run_verify(options.verify, console);
  if (name == "receipt") return run_receipt(options.receipt, console);
  if (name == "package") return run_package(options.package, console);
  if (name == "baselines") return run_baselines(options.baselines, console);
  if (name == "plan") return run_plan(options.plan, console);
  if (name == "optimize") return run_optimize(options.optimize, console);
  if (name == "bench") return run_bench(options.bench, console);
  if (name == "calibrate") return run_calibrate(options.calibrate, console);
  if (name == "code") return run_code(options.code, console);
  if (name == "notes") return run_notes(options.notes, console);
  if (name == "prompts") return run_prompts(options.prompts, console);
  if (name == "mcp") return run_mcp(options.mcp, console);
  if (name == "llm") return run_llm(options.llm, console);
  if (name == "profile") return run_profile(options.profile, console);
  if (name == "runs") return run_runs(options.runs, console);
  if (name == "memory") return run_memory(options.memory, console);
  if (name == "init") return run_init(options.init, console);
  if (name == "doctor") return run_doctor(console);
  throw Bug("a command without a body: " + name);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// Our own, because CLI11's looks otherwise from version to version.
std::string help_of(const CLI::App& app, const Terminal& terminal) {
  bool top = app.get_parent() == nullptr;
  std::string usage = top ? "stitchcuda COMMAND" : "stitchcuda " + app.get_name();
  Table positionals({{}, {.least = 20}}), flags({{}, {.least = 20}}), commands({{}, {.least = 20}});
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      usage += ' ' + option->get_name(true) + (option->get_items_expected_max() > 1 ? "…" : "");
      positionals.add_row({option->get_name(true), option->get_description()});
      continue;
    }
    std::vector<std::string> names = split(option->get_name(false, true), ',');
    std::string value =
        option->get_items_expected_max() > 0 ? ' ' + split(option->get_type_name(), ':').front() : "";
    if (option->get_required()) usage += ' ' + names.front() + value;
    flags.add_row({join(names, ", ") + value, option->get_description()});
  }
  for (const CLI::App* command : app.get_subcommands({}))
    commands.add_row({command->get_name(), command->get_description()});
  auto section = [&](std::string_view title, const std::string& body) {
    return body.empty() ? "" : "\n" + styled(title, Style::bold, terminal) + "\n" + body;
  };
  std::string examples;
  for (const std::string& line : split(app.get_footer(), '\n')) examples += "  " + line + "\n";
  return app.get_description() + "\n\n" + styled("Usage", Style::bold, terminal) + "  " + usage +
         " [flags]\n" + (positionals.empty() ? "" : "\n" + positionals.render(terminal, 2)) +
         section("Commands", commands.empty() ? "" : commands.render(terminal, 2)) +
         section("Flags", flags.render(terminal, 2)) + section("Examples", examples);
}

// "model.py:6, in forward: y = x + 1" is a place and the line that stands there.
std::pair<std::string, std::string> split_place(const std::string& where) {
  size_t function = where.find(", in ");
  size_t colon = function == std::string::npos ? function : where.find(": ", function);
  if (colon == std::string::npos) return {where, ""};
  return {where.substr(0, colon), where.substr(colon + 2)};
}

int report_error(const Error& error, Console& console) {
  if (console.json) {
    console.out << to_json(error).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return error.exit_code();
  }
  auto [place, code] = split_place(error.where);
  console.err << styled("error:", Style::bad, console.err_terminal) << ' '
              << (place.empty() ? "" : printable(place) + ": ") << error.message << '\n';
  if (!code.empty()) console.err << "    " << printable(code) << '\n';
  if (!error.fix.empty())
    console.err << styled("fix:", Style::good, console.err_terminal) << ' ' << error.fix << '\n';
  return error.exit_code();
}

int report_bug(const char* what, Console& console) {
  if (console.json) {
    Json error = {{"code", "bug"}, {"message", what}, {"exit_code", 3}};
    console.out << Json{{"error", error}}.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    console.err << styled("bug in stitchcuda:", Style::bad, console.err_terminal) << ' ' << what << '\n'
                << "This is our mistake, not yours. Please report it with the command you ran.\n";
  }
  return 3;
}

Error with_suggestion(std::string code, std::string message, const std::string& word,
                      const std::vector<std::string>& candidates, const std::string& otherwise) {
  auto near = nearest(word, candidates);
  return user_error(std::move(code), std::move(message),
                    near ? format("did you mean {}?", *near) : otherwise);
}

Error unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names = command_names(app);
  return with_suggestion("unknown_command", format("there is no command '{}'", word), word, names,
                         "one of: " + join(names, ", "));
}

Error bad_flags(const CLI::App& app, const CLI::ParseError& error) {
  auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.back();
  std::string see =
      chosen.empty() ? "see: stitchcuda --help" : format("see: stitchcuda {} --help", command.get_name());
  std::vector<std::string> extras = command.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && !extras.empty()) {
    const std::string& word = extras.front();
    if (!word.starts_with('-'))
      return user_error("unexpected", format("unexpected argument '{}'", word), see);
    std::vector<std::string> flags;
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    std::ranges::reverse(flags);  // so that --help, which comes first, wins no ties
    return with_suggestion("unknown_flag", format("there is no flag '{}'", word), word, flags, see);
  }
  return user_error("flags", error.what(), see);
}

// `stitchcuda help show` is `stitchcuda show --help`.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  return words;
}

Result<int> parse_and_run(std::vector<std::string> words, Console& console) {
  CLI::App app("StitchCUDA turns PyTorch models into verified, faster CUDA programs.");
  Options options;
  app.set_help_flag("-h,--help", "show this help");
  bool version = false;
  app.add_flag("--version", version, "show the version");
  add_json(app, options);
  add_import(app, options);
  add_show(app, options);
  add_plan(app, options);
  add_code(app, options);
  add_optimize(app, options);
  add_bench(app, options);
  add_calibrate(app, options);
  add_runs(app, options);
  add_memory(app, options);
  add_verify(app, options);
  add_receipt(app, options);
  add_package(app, options);
  add_baselines(app, options);
  add_notes(app, options);
  add_prompts(app, options);
  add_mcp(app, options);
  add_llm(app, options);
  add_profile(app, options);
  add_init(app, options);
  add_doctor(app, options);
  app.require_subcommand(0, 1);
  app.footer(
      "stitchcuda doctor\n"
      "stitchcuda optimize model.py -o program/\n"
      "stitchcuda verify program/ --task model.py");

  if (!words.empty() && !words[0].starts_with('-')) {
    std::vector<std::string> names = command_names(app);
    if (std::ranges::find(names, words[0]) == names.end()) return unknown_command(app, words[0]);
  }
  try {
    std::ranges::reverse(words);  // CLI11 takes them from the back
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    auto chosen = app.get_subcommands();
    console.out << help_of(chosen.empty() ? app : *chosen.back(), console.out_terminal);
    return 0;
  } catch (const CLI::ParseError& error) {
    return bad_flags(app, error);
  }
  if (version) {
    if (console.json)
      console.out << Json{{"version", STITCH_VERSION}}.dump(2) << '\n';
    else
      console.out << "stitchcuda " STITCH_VERSION "\n";
    return 0;
  }
  auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    if (!console.json) console.err << help_of(app, console.err_terminal) << '\n';
    return user_error("no_command", "no command is named", "one of: " + join(command_names(app), ", "));
  }
  return run_command(chosen.back()->get_name(), options, console);
}

}  // namespace

int run_cli(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  Console console{out, err, {}, {}};
  if (&out == &std::cout) console.out_terminal = terminal_of(STDOUT_FILENO);
  if (&err == &std::cerr) console.err_terminal = terminal_of(STDERR_FILENO);
  std::vector<std::string> words = words_of(argc, argv);
  console.json = std::ranges::find(words, "--json") != words.end();
  try {
    auto code = parse_and_run(std::move(words), console);
    return code ? *code : report_error(code.error(), console);
  } catch (const std::exception& bug) {
    return report_bug(bug.what(), console);
  }
}

}  // namespace stitch
