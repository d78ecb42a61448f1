// Flags, help and examples of synth, skills and train.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"

namespace stitch {

void add_synth(CLI::App& app, Options& options) {
  SynthCommand& synth = options.synth;
  CLI::App& command =
      *app.add_subcommand("synth", "Compose new tasks from operators and blocks, for training");
  command.add_option("-n,--count", synth.count, "how many tasks (default: 100)")
      ->type_name("NUMBER")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  command.add_option("-o,--out", synth.out, "the output folder: tasks/, graphs/, tasks.jsonl, report.json")
      ->type_name("FOLDER");
  command.add_option("--seed", synth.seed, "random seed (default: 1)")->type_name("NUMBER");
  command.add_flag("!--no-torch", synth.torch, "don't check the tasks in PyTorch; the oracle still does");
  command
      .add_option("--least-time", synth.least,
                  "minimum floor time of a task, in seconds, without the launch (default: 1e-6)")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--most-time", synth.most, "maximum floor time of a task, in seconds (default: 0.02)")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--similar", synth.similar, "maximum similarity to a benchmark task, 0 to 1 (default: 0.5)")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option("--benchmark", synth.benchmark,
                  "graph sketches of another benchmark (default: KernelBench)")
      ->type_name("FILE");
  command.add_option("--sketch", synth.sketch, "print the sketches of these graphs and exit")
      ->type_name("GRAPHS");
  command
      .add_option("--gpu", synth.gpu,
                  "the GPU that floor times are estimated for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command.add_option("--python", synth.python, "the Python to use for the tasks")->type_name("PATH");
  add_force(command, synth.force);
  add_json(command, options);
  command.footer(
      "stitchcuda synth -n 1000 -o tasks/\n"
      "stitchcuda synth -n 200 -o tasks/ --seed 7 --no-torch\n"
      "stitchcuda synth --sketch my-benchmark/ > sketches.txt\n"
      "stitchcuda synth -n 100 -o tasks/ --benchmark sketches.txt");
}

void add_skills(CLI::App& app, Options& options) {
  SkillsCommand& skills = options.skills;
  CLI::App& command = *app.add_subcommand(
      "skills", "Build, count or check rows for reinforcement learning (TRL, verl and others)");
  command.add_option("ACTION", skills.action, "build, stats or check")->required();
  command.add_option("WHAT", skills.what, "build: folders that synth wrote; stats and check: a file of rows");
  command.add_option("-o,--out", skills.out, "build: the JSONL file to write")->type_name("FILE");
  command.add_flag("--runs", skills.runs, "build: also rows from recorded runs (skill from feedback)");
  command
      .add_option("--benchmark", skills.benchmark,
                  "check: the benchmark that must not leak: graphs, sketches (.txt) or rows (.jsonl) "
                  "(default: KernelBench)")
      ->type_name("PATH");
  command
      .add_option("--similar", skills.similar,
                  "check: maximum similarity to a benchmark task, 0 to 1 (default: 0.5)")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option("--gpu", skills.gpu,
                  "the GPU that prompts describe (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  add_store(command, skills.store);
  add_force(command, skills.force);
  add_json(command, options);
  command.footer(
      "stitchcuda skills build tasks/ --runs -o skills.jsonl\n"
      "stitchcuda skills stats skills.jsonl\n"
      "stitchcuda skills check skills.jsonl\n"
      "stitchcuda skills check skills.jsonl --benchmark my-benchmark/");
}

void add_train(CLI::App& app, Options& options) {
  TrainCommand& train = options.train;
  CLI::App& command = *app.add_subcommand(
      "train", "Train the compact Coder, a small network that chooses a technique and knobs for each region");
  auto text = [&](const char* flag, std::string& value, const char* about, const char* type) {
    return command.add_option(flag, value, about)->type_name(type);
  };
  auto number = [&](const char* flag, auto& value, const char* about, double least, double most) {
    return command.add_option(flag, value, about)->type_name("NUMBER")->check(CLI::Range(least, most));
  };
  command.add_option("TASKS", train.tasks, "graph folders, graph.txt files, or folders of them");
  text("-o,--out", train.out, "the run's folder: weights, checkpoint, curve; resumes a run that is there",
       "FOLDER")
      ->required();
  command.add_option("--evaluate", train.evaluate, "held-out graphs to evaluate on; can be repeated")
      ->type_name("NAME=PATH");
  number("--synthetic", train.synthetic, "also train on this many composed tasks (default: 0)", 0, 1e6);
  number("--synthetic-seed", train.synthetic_seed, "random seed of the composed tasks (default: 1)", 0, 1e15);
  number("--fold", train.fold, "hold out this fold of five, 0 to 4 (default: a fixed tenth)", 0, 4);
  text("--reward", train.reward,
       "where times come from: model (estimates), measured (--timings), run (this machine's GPU) (default: "
       "model)",
       "SOURCE");
  text("--timings", train.timings,
       "measured times; --reward run appends to them (default: timings.jsonl in the output folder)", "FILE");
  number("--choices", train.choices, "choices measured per region, at most (default: 24)", 2, 256);
  number("--measure-seconds", train.measure_seconds,
         "stop starting measurements after this many seconds (default: no limit)", 0, 1e6);
  command.add_flag("--measure-only", train.measure_only, "with --reward run: measure without training");
  command.add_flag(
      "--disputed", train.disputed,
      "with --reward run: measure only regions whose built-in choice isn't the cost model's fastest");
  text("--calibration", train.calibration, "also compare with the cost model with this calibration", "FILE");
  number("--jobs", train.jobs, "with --reward run: programs built at once (default: 4)", 1, 256);
  number("--epochs", train.train.epochs, "passes over the training regions (default: 60)", 1, 1e5);
  number("--members", train.train.members,
         "networks in the ensemble, each trained on two thirds of the tasks (default: 6)", 1, 64);
  number("--rate", train.train.rate, "initial learning rate of Adam; falls to zero (default: 0.003)", 0, 1);
  command
      .add_option("--caution", train.train.cautions,
                  "also compare with these cautions: how many spreads of the networks' forecasts a choice "
                  "must be faster than the built-in one (default: only the one that training finds)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0.0, 100.0));
  number("--seed", train.train.seed, "random seed (default: 1)", 0, 1e15);
  text("--numerics", train.numerics, "numerics class: strict, default, tf32 or half (default: default)",
       "CLASS");
  text("--gpu", train.gpu, "the GPU to choose for (default: this machine's GPU, else H200)", "NAME");
  text("--python", train.train.python, "the Python to train with; it needs PyTorch", "PATH");
  add_json(command, options);
  command.footer(
      "stitchcuda train -o coder/ --synthetic 200\n"
      "stitchcuda train tasks/ -o coder/ --reward run --measure-seconds 600 --jobs 8\n"
      "stitchcuda train tasks/ -o coder/ --reward measured --timings timings.jsonl\n"
      "stitchcuda train tasks/ -o coder/ --reward measured --timings timings.jsonl --evaluate mine=graphs/");
}

}  // namespace stitch
