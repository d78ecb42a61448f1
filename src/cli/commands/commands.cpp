#include "cli/commands/commands.h"

#include <CLI/CLI.hpp>
#include <array>

#include "base/text.h"

namespace stitch {

Run add_import(CLI::App& app);
Run add_show(CLI::App& app);
Run add_plan(CLI::App& app);
Run add_code(CLI::App& app);
Run add_optimize(CLI::App& app);
Run add_bench(CLI::App& app);
Run add_calibrate(CLI::App& app);
Run add_runs(CLI::App& app);
Run add_memory(CLI::App& app);
Run add_verify(CLI::App& app);
Run add_receipt(CLI::App& app);
Run add_package(CLI::App& app);
Run add_baselines(CLI::App& app);
Run add_notes(CLI::App& app);
Run add_prompts(CLI::App& app);
Run add_mcp(CLI::App& app);
Run add_llm(CLI::App& app);
Run add_write(CLI::App& app);
Run add_rubric(CLI::App& app);
Run add_serve(CLI::App& app);
Run add_worker(CLI::App& app);
Run add_profile(CLI::App& app);
Run add_synth(CLI::App& app);
Run add_skills(CLI::App& app);
Run add_train(CLI::App& app);
Run add_init(CLI::App& app);
Run add_config(CLI::App& app);
Run add_completion(CLI::App& app);
Run add_man(CLI::App& app);
Run add_doctor(CLI::App& app);

std::span<const CommandRow> all_commands() {
  static constexpr auto commands = std::to_array<CommandRow>({
      {"import", add_import},
      {"show", add_show},
      {"plan", add_plan},
      {"code", add_code},
      {"optimize", add_optimize},
      {"bench", add_bench},
      {"calibrate", add_calibrate},
      {"runs", add_runs},
      {"memory", add_memory},
      {"verify", add_verify},
      {"receipt", add_receipt},
      {"package", add_package},
      {"baselines", add_baselines},
      {"notes", add_notes},
      {"prompts", add_prompts},
      {"mcp", add_mcp},
      {"llm", add_llm},
      {"write", add_write},
      {"rubric", add_rubric},
      {"serve", add_serve},
      {"worker", add_worker},
      {"profile", add_profile},
      {"synth", add_synth},
      {"skills", add_skills},
      {"train", add_train},
      {"init", add_init},
      {"config", add_config},
      {"completion", add_completion},
      {"man", add_man},
      {"doctor", add_doctor},
  });
  return commands;
}

namespace {

struct Choice {
  std::string_view command, flag;  // command empty: of every command that has the flag
  std::vector<std::string_view> values;
};

const std::vector<Choice>& all_choices() {
  static const std::vector<Choice> all = {
      {"", "--numerics", {"strict", "default", "tf32", "half"}},
      {"", "--device", {"cuda", "emulated"}},
      {"", "--baselines", {"eager", "eager-graph", "compile", "compile-graph", "all", "none"}},
      {"", "--compat", {"kernelbench"}},
      {"optimize", "--coder-style", {"answer", "agent"}},
      {"optimize", "--planner", {"builtin", "llm:"}},
      {"optimize", "--coder", {"builtin", "llm:"}},
      {"", "--verifier", {"builtin", "llm:"}},
      {"write", "--form", {"model-new", "program"}},
      {"profile", "--baseline", {"eager", "eager-graph", "compile", "compile-graph", "none"}},
      {"runs", "ACTION", {"list", "show", "diff", "resume", "export", "page", "remove"}},
      {"memory", "ACTION", {"show", "export", "merge", "forget"}},
      {"receipt", "ACTION", {"check", "key"}},
      {"prompts", "ACTION", {"list", "show", "check"}},
      {"llm", "ACTION", {"list", "ask"}},
      {"completion", "SHELL", {"bash", "zsh", "fish"}},
  };
  return all;
}

}  // namespace

void add_command_line(CLI::App& app, CommandLine& line) {
  app.description("StitchCUDA turns PyTorch models into verified, faster CUDA programs.");
  app.set_help_flag("-h,--help", "show this help");
  app.add_flag("--version", line.version, "show the version");
  app.add_flag_callback(
      "--json", [] {}, "print one JSON document, errors included");
  for (const CommandRow& command : all_commands()) line.commands[command.name] = command.add(app);
  for (CLI::App* command : app.get_subcommands({}))
    command->add_option("--log", line.log, "append a log with times to this file; keys are left out")
        ->type_name("FILE");
  app.require_subcommand(0, 1);
  app.footer(
      "stitchcuda doctor\n"
      "stitchcuda optimize model.py -o program/\n"
      "stitchcuda verify program/ --task model.py");
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

Error unknown_command(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = command_names(app);
  const auto near = nearest(word, names);
  return user_error("unknown_command", format("unknown command '{}'", printable(word)),
                    near ? format("did you mean {}?", *near) : "one of: " + join(names, ", "));
}

std::vector<std::string_view> choices_of(std::string_view command, std::string_view flag) {
  for (const Choice& choice : all_choices())
    if (choice.flag == flag && (choice.command.empty() || choice.command == command)) return choice.values;
  return {};
}

const std::vector<NumericsLine>& numerics_lines() {
  static const std::vector<NumericsLine> lines = {
      {"strict", "at most twice PyTorch's error without TF32, or 1e-5"},
      {"default",
       "at most twice PyTorch's error with its defaults (TF32 convolutions, FP32 matmuls), or 1e-5"},
      {"tf32", "at most twice PyTorch's error with TF32 everywhere"},
      {"half", "at most twice PyTorch's error under autocast (fp16 or bf16)"},
  };
  return lines;
}

}  // namespace stitch
