// A command's flags: one call each, in the order of the help. CLI11 stays behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agents/llm/llm_session.h"
#include "import/task.h"

namespace CLI {

class App;
class Option;

}  // namespace CLI

namespace stitch {

class Flag {
 public:
  explicit Flag(CLI::Option& option) : option_(&option) {}
  Flag& required(bool yes = true);
  template <class T>
  Flag& between(T least, T most);  // both are allowed; int, int64_t, double
  Flag& positive();
  Flag& not_negative();
  Flag& one_of(const std::vector<std::string>& values);
  Flag& excludes(const Flag& other);
  // Where it is given, `other` is neither required nor allowed.
  Flag& replaces(Flag other);

 private:
  CLI::Option* option_;
};

class Flags {
 public:
  Flags(CLI::App& app, const std::string& command, const std::string& about);

  // "-o,--out" with `type`, the name of what follows it; "MODEL": an argument by its place; for a bool a
  // switch, of which "!--no-weights" makes false. What it may be set to: command_line.cpp.
  template <class T>
  Flag operator()(const char* name, T& value, const char* type, const char* about);
  template <class T>
  Flag operator()(const char* name, T& value, const char* about);
  void group(const char* title) { group_ = title; }  // of the flags from here on; empty: the first one
  void examples(const std::string& lines);

  // Flags that many commands have.
  void numerics(std::string& value);
  void device(std::string& value);
  void gpu(std::string& value, const std::string& what);  // "the GPU to plan for"
  // How the task's .py file is read: --class, --python, --eval, --train, and --dynamic where `value` may have
  // sizes that change from call to call.
  void task(TaskOptions& value, const std::string& class_to = "the class to import",
            const char* python_for = "the Python to use for the task");
  void python(std::string& value, const char* about);
  void mode(Mode& value);                                          // --eval, --train
  void baselines(std::string& value, const char* otherwise = "");  // `otherwise`: the default, for the help
  void compatible(std::string& value);  // another evaluator that must accept the program; empty: none
  void store(std::string& value);
  void force(bool& value);
  void json();

 private:
  Flag added(CLI::Option* option, const char* type);

  CLI::App& command_;
  std::string group_;
};

// What language models may spend, which ones there are, and what they are told.
struct LlmFlags {
  int64_t max_tokens = 0;  // 0: no limit
  double max_dollars = 0;  // 0: no limit
  std::string config, prompts, notes;
  std::string record, replay;  // transcripts
};
// `over`: what the limits of tokens and dollars are for.
void add_llm(Flags& flags, LlmFlags& llm, const std::string& over);
void add_transcripts(Flags& flags, LlmFlags& llm);
agents::LlmOptions llm_options(const LlmFlags& llm);

// Which brains play the roles, for optimize and bench.
struct BrainFlags : LlmFlags {
  std::string planner = "builtin", coder = "builtin", verifier = "builtin";
  std::string coder_style = "answer";
  int llm_regions = 3;
  int llm_samples = 1;
  int llm_rounds = 1;
  int llm_budget = 600;  // seconds
  bool whole_program = false;
};
void add_brains(Flags& flags, BrainFlags& brains, const std::string& over);

Result<agents::LlmOptions> llm_options(const BrainFlags& brains);
// Whether the models' profiles and keys are there, before many processes say that they aren't.
Result<void> check_brains(const BrainFlags& brains);

// The flags that differ from the defaults, for `optimize` in another process: paths are absolute, and each of
// `tasks` has its share of tokens and dollars.
std::vector<std::string> words_of(const BrainFlags& brains, size_t tasks);

}  // namespace stitch
