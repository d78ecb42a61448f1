// stitchcuda init: a stitchcuda.toml to start from.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/commands/commands.h"

namespace stitch {

namespace {

constexpr std::string_view commented =
    R"toml(# stitchcuda.toml: defaults of flags, and which LLMs stitchcuda may use. Everything works without it. A line
# that begins with # is a comment.
#
# A flag's value is the command line's, else the environment's (STITCHCUDA_NUMERICS=tf32, for one command
# STITCHCUDA_OPTIMIZE_BUDGET=600), else that of ./stitchcuda.toml, else that of ~/.config/stitchcuda/config.toml.
# stitchcuda config shows where each value is from.

# For every command that has the flag.
# [defaults]
# numerics = "default"                   # strict, default, tf32 or half: stitchcuda optimize --help explains them
# gpu = "H200"
# python = "/usr/bin/python3"
# eval = true                            # models in eval mode

# For one command: a section of its name, flags without their dashes.
# [optimize]
# budget = 600                           # seconds
# baselines = "all"

# Language models. The built-in engine needs no model, no key and no network.
# A section [llm.NAME] is a profile. It is used by its name:
#   stitchcuda optimize model.py -o program/ --coder llm:NAME
# Keys never stand in this file: key_env is the name of an environment variable that holds one.

# A server of your own (vLLM, SGLang, llama.cpp, Ollama): OpenAI's chat completions without a key.
# [llm.local]
# api = "openai"                         # openai: chat completions; responses; anthropic: messages
# url = "http://localhost:8000/v1"
# model = "Qwen/Qwen3-Coder-30B-A3B-Instruct"
# max_tokens = 16384                     # of one answer
# temperature = 0.7

# A hosted model behind OpenAI's Responses API.
# [llm.openai]
# api = "responses"
# url = "https://api.openai.com/v1"
# model = "gpt-5"
# key_env = "OPENAI_API_KEY"
# max_tokens = 32768
# price = { input = 1.25, output = 10.0 }   # dollars per million tokens: budgets in dollars need it

# Anthropic's messages API.
# [llm.mine]
# api = "anthropic"
# url = "https://api.anthropic.com"
# model = "claude-sonnet-4-5"
# key_env = "ANTHROPIC_API_KEY"
# max_tokens = 32768
# price = { input = 3.0, output = 15.0 }
)toml";

Result<int> run_init(const std::string& out, Console& console) {
  std::error_code ec;
  if (fs::exists(fs::symlink_status(out, ec)))
    return at(out, user_error("exists", "already exists", "move it, or name another file with -o"));
  STITCH_CHECK(write_file(out, commented));
  if (console.json)
    console.out << Json{{"file", out}}.dump(2) << '\n';
  else
    console.out << out << ": every setting as a comment; uncomment those you want\n";
  return 0;
}

}  // namespace

Run add_init(CLI::App& app) {
  const auto out = std::make_shared<std::string>("stitchcuda.toml");
  Flags flags(app, "init", "Write a commented stitchcuda.toml");
  flags("-o,--out", *out, "FILE", "the file to write (default: stitchcuda.toml)");
  flags.json();
  flags.examples("stitchcuda init");
  return [out](Console& console) { return run_init(*out, console); };
}

}  // namespace stitch
