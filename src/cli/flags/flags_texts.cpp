// Flags, help and examples of notes, prompts, mcp, llm, config, completion, man, doctor.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/flags/model_options.h"

namespace stitch {

void add_notes(CLI::App& app, Options& options) {
  NotesCommand& notes = options.notes;
  CLI::App& command = *app.add_subcommand("notes", "Search notes on making CUDA kernels fast");
  command.add_option("QUESTION", notes.question, "words to look for: bank conflicts, wgmma, slow LSTM");
  command.add_option("--gpu", notes.gpu, "only notes for this GPU or architecture: H200, sm_90, ampere")
      ->type_name("NAME");
  command.add_option("-n", notes.most, "how many notes to print (default: 5)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--list", notes.list, "list all notes");
  command.add_option("--show", notes.show, "print one note")->type_name("NAME");
  command.add_option("--notes", notes.folder, "a folder of additional notes in the same format")
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
  command.add_option("--prompts", prompts.folder, "a folder of prompts that replace the built-in ones")
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
  command.add_option("--notes", mcp.notes, "a folder of additional notes")->type_name("FOLDER");
  command.add_option("--prompts", mcp.prompts, "a folder of prompts that replace the built-in ones")
      ->type_name("FOLDER");
  command.footer(
      "stitchcuda mcp\nstitchcuda mcp --root ~/kernels\n(docs/mcp.md: how to configure a coding agent)");
}

void add_llm(CLI::App& app, Options& options) {
  LlmCommand& llm = options.llm;
  CLI::App& command = *app.add_subcommand("llm", "List known LLM servers, or send one a prompt");
  command.add_option("ACTION", llm.action, "list: the profiles; ask: send a prompt, to test a server")
      ->required();
  command.add_option("PROFILE", llm.profile, "ask: PROFILE or PROFILE/MODEL");
  command.add_option("TEXT", llm.text, "ask: the prompt");
  command.add_option("--system", llm.system, "the system prompt")->type_name("TEXT");
  command.add_flag("--stream", llm.stream, "print the answer while it is generated");
  command
      .add_option("--max-tokens", llm.max_tokens,
                  "maximum number of tokens in the answer (default: the profile's)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 10000000));
  command
      .add_option("--config", llm.config,
                  "the file with [llm.NAME] profiles (default: stitchcuda.toml, then the one in ~/.config)")
      ->type_name("FILE");
  command
      .add_option("--transcript", llm.transcript,
                  "append the request and the answer to this file as a line of JSON")
      ->type_name("FILE");
  add_json(command, options);
  command.footer(
      "stitchcuda llm list\n"
      "stitchcuda llm ask ollama/qwen2.5-coder \"hello\" --stream\n"
      "OPENAI_API_KEY=… stitchcuda llm ask openai/gpt-5-mini \"hello\" --json");
}

void add_config(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand(
      "config", "Show which defaults are set, and where: environment, project file, user file");
  command.add_option("COMMAND", options.config.command, "a command, to list all of its flags");
  add_json(command, options);
  command.footer(
      "stitchcuda config\nstitchcuda config optimize\nSTITCHCUDA_NUMERICS=tf32 stitchcuda config --json");
}

void add_completion(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("completion", "Print a shell completion script");
  command.add_option("SHELL", options.completion.shell, "bash, zsh or fish")->required();
  command.footer(
      "eval \"$(stitchcuda completion bash)\"\n"
      "stitchcuda completion bash > ~/.local/share/bash-completion/completions/stitchcuda\n"
      "stitchcuda completion fish > ~/.config/fish/completions/stitchcuda.fish");
}

void add_man(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("man", "Print the manual page");
  command.add_option("COMMAND", options.man.command, "the command to describe (default: stitchcuda itself)");
  command.footer(
      "stitchcuda man | man -l -\nstitchcuda man optimize > ~/.local/share/man/man1/stitchcuda-optimize.1");
}

void add_doctor(CLI::App& app, Options& options) {
  CLI::App& command = *app.add_subcommand("doctor", "Show what this machine has and what is missing");
  add_json(command, options);
  command.footer(
      "stitchcuda doctor\n"
      "stitchcuda doctor --json");
}

}  // namespace stitch
