// Flags, help and examples of optimize, bench, calibrate, runs, memory, init.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/flags/model_options.h"

namespace stitch {

namespace {

void add_brains(CLI::App& command, OptimizeCommand& optimize) {
  constexpr const char* group = "Language models";
  auto brain = [&](const char* flag, std::string& name, const char* about) {
    command.add_option(flag, name, about)->type_name("BRAIN")->group(group);
  };
  brain("--planner", optimize.planner, "the Planner: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  brain("--coder", optimize.coder, "the Coder: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  brain("--verifier", optimize.verifier,
        "who explains failed gates: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  command
      .add_option("--coder-style", optimize.coder_style,
                  "answer: one request per attempt; agent: with tools, over several turns (default: answer)")
      ->type_name("STYLE")
      ->group(group);
  command
      .add_option("--llm-regions", optimize.llm_regions,
                  "how many regions an LLM Coder writes, largest expected gain first (default: 3)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000))
      ->group(group);
  command
      .add_option("--llm-samples", optimize.llm_samples,
                  "answers for each region at the same time; the fastest that passes is kept (default: 1)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 64))
      ->group(group);
  command
      .add_flag("--whole-program", optimize.whole_program,
                "an LLM Coder writes the whole forward pass as one source")
      ->group(group);
  command
      .add_option("--llm-budget", optimize.llm_budget,
                  "seconds for steps by language models, judging included, beside --budget (default: 600)")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber)
      ->group(group);
  command.add_option("--max-tokens", optimize.max_tokens, "token limit over all models")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber)
      ->group(group);
  command.add_option("--max-dollars", optimize.max_dollars, "cost limit over all models, in dollars")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber)
      ->group(group);
  auto file = [&](const char* flag, std::string& path, const char* about, const char* type) {
    command.add_option(flag, path, about)->type_name(type)->group(group);
  };
  file("--config", optimize.config,
       "file with LLM profiles (default: ./stitchcuda.toml, then the user's config.toml)", "FILE");
  file("--record", optimize.record, "append every request and answer to this file; keys are left out",
       "FILE");
  file("--replay", optimize.replay, "answer from a file that --record wrote instead of calling a model",
       "FILE");
  file("--prompts", optimize.prompts, "a folder of your own prompts (see stitchcuda prompts)", "FOLDER");
  file("--notes", optimize.notes, "a folder of your own notes (see stitchcuda notes)", "FOLDER");
}

}  // namespace

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
      .add_option(
          "--budget", optimize.budget,
          "seconds of planning, building and judging; waiting for the GPU is not counted, and the first "
          "program is always finished (default: 40)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command
      .add_option("--deadline", optimize.deadline,
                  "wall time in seconds after which the best program so far is written (default: none)")
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
      .add_option(
          "--weights", optimize.weights,
          "put the model's weights into the folder: auto (up to 256 MB), always or never (default: auto)")
      ->type_name("WHEN");
  command
      .add_option("--html", optimize.html,
                  "where to write the report page (default: report.html in the output folder)")
      ->type_name("FILE");
  auto* plan = command.add_option("--plan", optimize.plan,
                                  "verify and tune this plan instead of searching for one (see plan -o)");
  plan->type_name("FILE");
  command
      .add_option("--coder-weights", optimize.coder_weights,
                  "try the compact Coder's choices as the last step: sm_90, or weights of train")
      ->type_name("FILE")
      ->excludes(plan);
  command
      .add_option(
          "--ledger", optimize.ledger,
          "what each step gained: estimated by the cost model, or measured without it (default: estimated)")
      ->type_name("HOW")
      ->check(CLI::IsMember({"estimated", "measured"}));
  command.add_flag("--no-timing", optimize.no_timing, "verify without timing; choose by estimates");
  command.add_flag("--quick", optimize.quick, "check the final program with one seed and fewer gates");
  add_compatible(command, optimize.compatible);
  command.add_flag(
      "--no-tune", optimize.no_tune,
      "skip tuning settings on the GPU after the steps (tuning takes at most a third of the budget)");
  command.add_flag("--exit-slower", optimize.exit_slower,
                   "exit with 1 if the program isn't faster than the best PyTorch baseline (needs a GPU)");
  command
      .add_option("--memory", optimize.memory,
                  "how much of PyTorch's peak memory the program may take, as a factor (default: 1)")
      ->type_name("FACTOR")
      ->check(CLI::Range(0.1, 100.0));
  command.add_flag("--no-recall", optimize.no_recall, "ignore what earlier runs found");
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

void add_bench(CLI::App& app, Options& options) {
  BenchCommand& bench = options.bench;
  CLI::App& command = *app.add_subcommand("bench", "Optimize many tasks and summarise");
  command.add_option("TASKS", bench.paths, "folders of .py tasks, or the tasks themselves")->required();
  command
      .add_option("-o,--out", bench.out,
                  "the results folder; resumes an interrupted run, keeps other tasks' results")
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
                  "how many tasks to run at once; only one is timed at a time (default: one per four cores)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 256));
  command
      .add_option("--budget", bench.budget,
                  "seconds of planning, building and judging per task, as of optimize (default: 40)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command
      .add_option(
          "--deadline", bench.deadline,
          "wall time per task in seconds after which its best program so far is written (default: none)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command
      .add_option("--time-limit", bench.time_limit, "seconds after which a task is stopped (default: 3600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command.add_flag("--no-timing", bench.no_timing, "verify without timing; choose by estimates");
  command.add_flag("--quick", bench.quick, "check the final program with one seed and fewer gates");
  add_compatible(command, bench.compatible);
  command
      .add_option("--coder-weights", bench.coder_weights,
                  "try the compact Coder's choices as the last step: sm_90, or weights of train")
      ->type_name("FILE");
  command.add_flag(
      "--no-tune", bench.no_tune,
      "skip tuning settings on the GPU after the steps (tuning takes at most a third of the budget)");
  command.add_flag("--recall", bench.recall,
                   "start each task's plan from what earlier runs found (default: ignore them)");
  add_store(command, bench.store);
  add_cluster(command, bench.cluster);
  command.add_option("--python", bench.python, "the Python to use for the tasks")->type_name("PATH");
  add_mode(command, bench.mode);
  add_force(command, bench.force);
  add_json(command, options);
  command.footer(
      "stitchcuda bench examples -o build/bench\n"
      "stitchcuda bench KernelBench/level1 KernelBench/level2 -o out/ --jobs 8 --known-baselines "
      "earlier.jsonl\n"
      "stitchcuda bench KernelBench/level3 -o out/ --device cuda --on slurm --workers 8");
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

void add_runs(CLI::App& app, Options& options) {
  RunsCommand& runs = options.runs;
  CLI::App& command = *app.add_subcommand("runs", "List, show, compare, resume and export runs of optimize");
  command.add_option("ACTION", runs.action, "list, show, diff, resume, export, page or remove")->required();
  command.add_option("RUN", runs.runs, "a run's id, or a unique prefix of it");
  command
      .add_option("-o,--out", runs.out,
                  "export: the folder to write (default: run-ID); page: the file to write")
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
      "merge: a file that export wrote; show and forget: a prefix of a graph's hash or of a kind of region");
  command.add_option("-o,--out", memory.out, "export: the file to write (default: standard output)")
      ->type_name("FILE");
  add_store(command, memory.store);
  command.add_flag("--force", memory.force, "forget: everything; export: overwrite the file");
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

}  // namespace stitch
