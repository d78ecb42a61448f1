// Flags, help and examples of write.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/flags/model_options.h"

namespace stitch {

void add_write(CLI::App& app, Options& options) {
  WriteCommand& write = options.write;
  CLI::App& command = *app.add_subcommand(
      "write", "Let a language model write a whole candidate, verify it and improve it from the feedback");
  command.add_option("MODEL", write.model, "a .py file with Model, get_inputs() and get_init_inputs()")
      ->required();
  command.add_option("-o,--out", write.out, "the output folder: the best candidate and all tries")
      ->type_name("FOLDER")
      ->required();
  command.add_option("--coder", write.coder, "the language model: llm:PROFILE[/MODEL]")
      ->type_name("BRAIN")
      ->required();
  command
      .add_option("--verifier", write.verifier,
                  "who explains failed gates: builtin, or llm:PROFILE[/MODEL] (default: builtin)")
      ->type_name("BRAIN");
  command
      .add_option("--form", write.form,
                  "model-new: Python with ModelNew, as in KernelBench; program: one CUDA source with the "
                  "program's C interface (default: model-new)")
      ->type_name("FORM");
  command.add_option("--tries", write.tries, "maximum number of tries (default: 4)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000));
  command
      .add_option("--budget", write.budget,
                  "seconds after which the model is asked no more; what it wrote is judged all the same "
                  "(default: 600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command
      .add_option("--numerics", write.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--device", write.device, "cuda or emulated (default: cuda if there is a GPU)")
      ->type_name("NAME");
  command.add_option("--gpu", write.gpu, "the GPU to write it for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command
      .add_option("--baselines", write.baselines,
                  "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none")
      ->type_name("LIST");
  command.add_flag("--no-timing", write.no_timing,
                   "verify without timing; keep the first candidate that passes");
  command.add_flag("--quick", write.quick, "check the best candidate with one seed and fewer gates");
  command.add_option("--max-tokens", write.max_tokens, "token limit over all models")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber);
  command.add_option("--max-dollars", write.max_dollars, "cost limit over all models, in dollars")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber);
  auto file = [&](const char* flag, std::string& path, const char* about, const char* type) {
    command.add_option(flag, path, about)->type_name(type);
  };
  file("--config", write.config,
       "file with LLM profiles (default: ./stitchcuda.toml, then the user's config.toml)", "FILE");
  file("--record", write.record, "append every request and answer to this file; keys are left out", "FILE");
  file("--replay", write.replay, "answer from a file that --record wrote instead of calling a model", "FILE");
  file("--prompts", write.prompts, "a folder of your own prompts (see stitchcuda prompts)", "FOLDER");
  file("--notes", write.notes, "a folder of your own notes (see stitchcuda notes)", "FOLDER");
  command.add_option("--class", write.model_class, "the class to import, instead of Model")
      ->type_name("NAME");
  command.add_option("--python", write.python, "the Python to use for the task")->type_name("PATH");
  add_mode(command, write.mode);
  add_force(command, write.force);
  add_json(command, options);
  command.footer(
      "stitchcuda write task.py -o candidate/ --coder llm:ollama/qwen2.5-coder\n"
      "stitchcuda write task.py -o candidate/ --coder llm:openai/gpt-5-mini --form program --tries 8");
}

}  // namespace stitch
