// Flags, help and examples of train.
#include <CLI/CLI.hpp>

#include "cli/flags.h"

namespace stitch {

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
  number("--synthetic", train.synthetic, "train on so many composed tasks, too (default: 0)", 0, 1e6);
  number("--synthetic-seed", train.synthetic_seed, "of the composed tasks (default: 1)", 0, 1e15);
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
  number("--jobs", train.jobs, "programs that run builds at a time (default: 4)", 1, 256);
  number("--steps", train.steps, "of GRPO (default: 300)", 0, 1e7);
  number("--warm-up", train.warm_up, "passes over the best known choices before it (default: 20)", 0, 1e5);
  number("--patience", train.patience, "checks without a gain before it stops; 0: never (default: 8)", 0,
         1e6);
  number("--questions", train.questions, "regions a step (default: 16)", 1, 1e5);
  number("--answers", train.answers, "a region: the group (default: 8)", 2, 1e4);
  number("--rate", train.rate, "Adam's step size (default: 0.001)", 0, 1);
  number("--kl", train.kl, "weight of the KL term to the warm-up policy (default: 0.03)", 0, 100);
  number("--entropy", train.entropy, "weight of the entropy (default: 0.01)", 0, 100);
  number("--seed", train.seed, "of weights, samples and order (default: 1)", 0, 1e15);
  text("--numerics", train.numerics, "numerics class: strict, default, tf32 or half (default: default)",
       "CLASS");
  text("--gpu", train.gpu, "the GPU to choose for (default: this machine's GPU, else H200)", "NAME");
  add_json(command, options);
  command.footer(
      "stitchcuda train -o coder/ --synthetic 200\n"
      "stitchcuda train tasks/ -o coder/ --reward run --measure-seconds 600 --jobs 8\n"
      "stitchcuda train tasks/ -o coder/ --reward measured --timings timings.jsonl --skill from-scratch");
}

}  // namespace stitch
