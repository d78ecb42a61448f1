// Flags, help and examples of synth, skills and train.
#include <CLI/CLI.hpp>

#include "cli/flags.h"

namespace stitch {

void add_synth(CLI::App& app, Options& options) {
  SynthCommand& synth = options.synth;
  CLI::App& command =
      *app.add_subcommand("synth", "Compose new tasks from operators and blocks, for training");
  command.add_option("-n,--count", synth.count, "how many tasks (default: 100)")
      ->type_name("NUMBER")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  command.add_option("-o,--out", synth.out, "the folder: tasks/, graphs/, tasks.jsonl, report.json")
      ->type_name("FOLDER");
  command.add_option("--seed", synth.seed, "the same seed makes the same tasks (default: 1)")
      ->type_name("NUMBER");
  command.add_flag("!--no-torch", synth.torch, "don't check the tasks in PyTorch; the oracle still does");
  command
      .add_option("--least-time", synth.least,
                  "seconds that a task's floor is at least, without the launch (default: 1e-6)")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--most-time", synth.most, "seconds that it is at most (default: 0.02)")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--similar", synth.similar,
                  "most that a task may be like one of the benchmark, 0 to 1 (default: 0.5)")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option("--benchmark", synth.benchmark, "sketches of another benchmark (default: KernelBench's)")
      ->type_name("FILE");
  command.add_option("--sketch", synth.sketch, "print the sketches of these graphs, and nothing else")
      ->type_name("GRAPHS");
  command
      .add_option("--gpu", synth.gpu, "the GPU that floors are for (default: this machine's GPU, else H200)")
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
  command.add_flag("--runs", skills.runs, "build: rows of recorded runs, too (skill from feedback)");
  command
      .add_option(
          "--benchmark", skills.benchmark,
          "check: graphs, sketches (.txt) or rows (.jsonl) that must not be in it (default: KernelBench)")
      ->type_name("PATH");
  command
      .add_option("--similar", skills.similar,
                  "check: most that two graphs may have in common, 0 to 1 (default: 0.5)")
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
  CLI::App& command =
      *app.add_subcommand("train", "Train the compact Coder: which technique and knobs for which region");
  auto text = [&](const char* flag, std::string& value, const char* about, const char* type) {
    return command.add_option(flag, value, about)->type_name(type);
  };
  auto number = [&](const char* flag, auto& value, const char* about, double least, double most) {
    return command.add_option(flag, value, about)->type_name("NUMBER")->check(CLI::Range(least, most));
  };
  command.add_option("TASKS", train.tasks, "graph folders, graph.txt files, or folders of them");
  text("-o,--out", train.out, "the run's folder: weights, checkpoint, curve; a run there is resumed",
       "FOLDER")
      ->required();
  command
      .add_option("--evaluate", train.evaluate,
                  "graphs to compare on and never train on; may be given several times")
      ->type_name("NAME=PATH");
  number("--synthetic", train.synthetic, "train on so many composed tasks, too (default: 0)", 0, 1e6);
  number("--synthetic-seed", train.synthetic_seed, "of the composed tasks (default: 1)", 0, 1e15);
  number("--fold", train.fold, "hold out this one of five folds, 0 to 4 (default: the fixed splits, a tenth)",
         0, 4);
  text("--reward", train.reward,
       "where times come from: model (estimates), measured (--timings), run (this machine's GPU) (default: "
       "model)",
       "SOURCE");
  text("--reward-kind", train.reward_kind,
       "combined, paper, milestones, rule or rubric, see docs/rubric.md (default: rule)", "NAME");
  text("--skill", train.skill, "from-scratch, from-feedback or both (default: both)", "NAME");
  text("--timings", train.timings, "measured times; run adds to them (default: timings.jsonl in the folder)",
       "FILE");
  number("--choices", train.choices, "of a region that run measures, at most (default: 24)", 2, 256);
  number("--measure-seconds", train.measure_seconds,
         "after which run measures nothing new (default: no limit)", 0, 1e6);
  command.add_flag("--measure-only", train.measure_only, "with run: measure, and train nothing");
  command.add_flag(
      "--disputed", train.disputed,
      "with run: measure only regions whose built-in choice isn't the cost model's least estimate");
  text("--calibration", train.calibration, "compare with the cost model by this calibration, too", "FILE");
  number("--jobs", train.jobs, "programs that run builds at a time (default: 4)", 1, 256);
  number("--steps", train.steps, "of GRPO, a member (default: 40)", 0, 1e7);
  number("--warm-up", train.warm_up, "passes over what choices are known to take before it (default: 60)", 0,
         1e5);
  number("--members", train.members, "networks that decide together, each trained on two thirds (default: 6)",
         1, 64);
  number("--patience", train.patience, "checks without a gain before a member stops; 0: never (default: 2)",
         0, 1e6);
  number("--questions", train.questions, "regions a step (default: 16)", 1, 1e5);
  number("--answers", train.answers, "a region: the group (default: 8)", 2, 1e4);
  number("--rate", train.rate, "Adam's step size (default: 0.003)", 0, 1);
  number("--kl", train.kl, "weight of the KL term to the warm-up policy (default: 0.03)", 0, 100);
  number("--entropy", train.entropy, "weight of the entropy (default: 0.01)", 0, 100);
  number("--first-entropy", train.first_entropy,
         "its weight at first; falls to --entropy in half of the steps (default: 0.1)", 0, 100);
  command
      .add_option(
          "--caution", train.cautions,
          "compare with these, too: spreads of the members' forecasts by which another choice has to be "
          "faster than the built-in one (default: only the one that training finds)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0.0, 100.0));
  number("--seed", train.seed, "of weights, samples and order (default: 1)", 0, 1e15);
  text("--numerics", train.numerics, "numerics class: strict, default, tf32 or half (default: default)",
       "CLASS");
  text("--gpu", train.gpu, "the GPU to choose for (default: this machine's GPU, else H200)", "NAME");
  add_json(command, options);
  command.footer(
      "stitchcuda train -o coder/ --synthetic 200\n"
      "stitchcuda train tasks/ -o coder/ --reward run --measure-seconds 600 --jobs 8\n"
      "stitchcuda train tasks/ -o coder/ --reward measured --timings timings.jsonl --skill from-scratch\n"
      "stitchcuda train tasks/ -o coder/ --reward measured --timings timings.jsonl --evaluate mine=graphs/");
}

}  // namespace stitch
