// Flags, help and examples of rubric.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/flags/model_options.h"

namespace stitch {

void add_rubric(CLI::App& app, Options& options) {
  RubricCommand& rubric = options.rubric;
  CLI::App& command =
      *app.add_subcommand("rubric", "Score a program by the rubric and compute its reward, with reasons");
  auto text = [&](const char* flag, std::string& value, const char* about, const char* type) {
    return command.add_option(flag, value, about)->type_name(type);
  };
  command.add_option("PROGRAM", rubric.program, "a program folder, a .cu file, or a .py file with ModelNew")
      ->required();
  text("--task", rubric.task, "what it must compute: a .py file or a graph folder", "MODEL")->required();
  text("--before", rubric.before, "the program before the change; with --feedback", "PROGRAM");
  text("--feedback", rubric.feedback,
       "the feedback that led to the change: text, or JSON with bottleneck and suggestion", "FILE");
  text("--judge", rubric.judge, "builtin, or llm:PROFILE[/MODEL] (default: builtin)", "JUDGE");
  text("--reward", rubric.reward,
       "combined, paper, milestones, rule or rubric (default: combined; see docs/rubric.md)", "NAME");
  text("--verdict", rubric.verdict, "a verdict that verify -o wrote, instead of verifying now", "FILE");
  text("--before-verdict", rubric.before_verdict, "verdict of the program before the change", "FILE");
  command.add_flag("!--no-verify", rubric.verify, "score the code alone: nothing is built or run");
  text("--numerics", rubric.numerics, "numerics class: strict, default, tf32 or half (default: default)",
       "CLASS");
  text("--device", rubric.device, "cuda or emulated (default: cuda if there is a GPU)", "NAME");
  text(
      "--baselines", rubric.baselines,
      "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none (default: all on a GPU)",
      "LIST");
  text("--gpu", rubric.gpu, "the GPU to estimate operator times for (default: this machine's GPU, else H200)",
       "NAME");
  command.add_flag("--quick", rubric.quick, "verify with one seed and one set of weights");
  text("--config", rubric.config,
       "file with LLM profiles (default: ./stitchcuda.toml, then the user's config.toml)", "FILE");
  text("--prompts", rubric.prompts, "a folder of your own prompts (see stitchcuda prompts)", "FOLDER");
  text("--class", rubric.model_class, "the task's class, instead of Model", "NAME");
  text("--python", rubric.python, "the Python to use for the task", "PATH");
  add_mode(command, rubric.mode);
  add_json(command, options);
  command.footer(
      "stitchcuda rubric program/ --task model.py\n"
      "stitchcuda rubric model_new.py --task model.py --verdict verdict.json --json\n"
      "stitchcuda rubric after.cu --task model.py --before before.cu --feedback feedback.txt\n"
      "stitchcuda rubric program/ --task model.py --judge llm:ollama/qwen2.5-coder --reward paper");
}

}  // namespace stitch
