#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace stitch {

Flag& Flag::required(bool yes) {
  option_->required(yes);
  return *this;
}

template <class T>
Flag& Flag::between(T least, T most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
template Flag& Flag::between(int, int);
template Flag& Flag::between(int64_t, int64_t);
template Flag& Flag::between(double, double);

Flag& Flag::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Flag& Flag::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Flag& Flag::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

Flag& Flag::excludes(const Flag& other) {
  option_->excludes(other.option_);
  return *this;
}

Flag& Flag::replaces(Flag other) {
  option_->excludes(other.option_)->each([other](const std::string&) mutable { other.required(false); });
  return *this;
}

Flags::Flags(CLI::App& app, const std::string& command, const std::string& about)
    : command_(*app.add_subcommand(command, about)) {}

Flag Flags::added(CLI::Option* option, const char* type) {
  if (type) option->type_name(type);
  if (!group_.empty()) option->group(group_);
  return Flag(*option);
}

template <class T>
Flag Flags::operator()(const char* name, T& value, const char* type, const char* about) {
  return added(command_.add_option(name, value, about), type);
}

template <class T>
Flag Flags::operator()(const char* name, T& value, const char* about) {
  if constexpr (std::is_same_v<T, bool>)
    return added(command_.add_flag(name, value, about), nullptr);
  else
    return added(command_.add_option(name, value, about), nullptr);
}

template Flag Flags::operator()(const char*, std::string&, const char*, const char*);
template Flag Flags::operator()(const char*, std::vector<std::string>&, const char*, const char*);
template Flag Flags::operator()(const char*, int&, const char*, const char*);
template Flag Flags::operator()(const char*, int64_t&, const char*, const char*);
template Flag Flags::operator()(const char*, uint64_t&, const char*, const char*);
template Flag Flags::operator()(const char*, double&, const char*, const char*);
template Flag Flags::operator()(const char*, std::vector<double>&, const char*, const char*);
template Flag Flags::operator()(const char*, bool&, const char*);
template Flag Flags::operator()(const char*, std::string&, const char*);
template Flag Flags::operator()(const char*, std::vector<std::string>&, const char*);

void Flags::examples(const std::string& lines) { command_.footer(lines); }

void Flags::numerics(std::string& value) {
  (*this)("--numerics", value, "CLASS",
          "how much rounding error is allowed: strict, default, tf32 or half (default: default)");
}

void Flags::device(std::string& value) {
  (*this)("--device", value, "NAME", "cuda or emulated (default: cuda if there is a GPU)");
}

void Flags::gpu(std::string& value, const std::string& what) {
  (*this)("--gpu", value, "NAME", (what + " (default: this machine's GPU, else H200)").c_str());
}

void Flags::task(TaskOptions& value, const std::string& class_to, const char* python_for) {
  (*this)("--class", value.model_class, "NAME", (class_to + ", instead of Model").c_str());
  if (value.dynamic)
    (*this)("--dynamic", *value.dynamic, "SIZE",
            "a size that changes from call to call, NAME=INPUT:DIM,...=LEAST..MOST, as in "
            "batch=x:0,mask:0=1..64 (default: what the task's get_dynamic_shapes() says)");
  python(value.python, python_for);
  mode(value.mode);
}

void Flags::python(std::string& value, const char* about) { (*this)("--python", value, "PATH", about); }

void Flags::mode(Mode& value) {
  auto* eval = command_.add_flag_callback(
      "--eval", [&value] { value = Mode::eval; },
      "use eval mode: no dropout, batch norm with running statistics (default: as the file leaves the model, "
      "usually in training mode)");
  auto* train = command_.add_flag_callback(
      "--train", [&value] { value = Mode::train; }, "use training mode, even if the file calls eval()");
  eval->excludes(train);
}

void Flags::baselines(std::string& value, const char* otherwise) {
  (*this)("--baselines", value, "LIST",
          format("PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none{}", otherwise)
              .c_str());
}

void Flags::compatible(std::string& value) {
  (*this)("--compat", value, "NAME",
          "kernelbench: also pass its own evaluator, which needs TF32 exactly where PyTorch uses it");
}

void Flags::store(std::string& value) {
  (*this)("--store", value, "FILE",
          "the database of runs; none: runs are not recorded (default: $STITCHCUDA_STORE, else "
          "~/.local/share/stitchcuda/runs.db)");
}

void Flags::force(bool& value) {
  (*this)("--force", value,
          "overwrite existing output; files of yours are kept, edited ones saved as NAME.edited");
}

// Read before the parse (run_cli.cpp), so that its errors are JSON too.
void Flags::json() {
  command_.add_flag_callback(
      "--json", [] {}, "print one JSON document, errors included");
}

void add_llm(Flags& flags, LlmFlags& llm, const std::string& over) {
  flags("--max-tokens", llm.max_tokens, "NUMBER", ("token limit " + over).c_str()).positive();
  flags("--max-dollars", llm.max_dollars, "NUMBER", ("cost limit " + over + ", in dollars").c_str())
      .positive();
  flags("--config", llm.config, "FILE",
        "file with LLM profiles (default: ./stitchcuda.toml, then the user's config.toml)");
  flags("--prompts", llm.prompts, "FOLDER", "a folder of your own prompts (see stitchcuda prompts)");
  flags("--notes", llm.notes, "FOLDER", "a folder of your own notes (see stitchcuda notes)");
}

void add_transcripts(Flags& flags, LlmFlags& llm) {
  flags("--record", llm.record, "FILE", "append every request and answer to this file; keys are left out");
  flags("--replay", llm.replay, "FILE", "answer from a file that --record wrote instead of calling a model");
}

agents::LlmOptions llm_options(const LlmFlags& llm) {
  agents::LlmOptions out{.config = llm.config,
                         .record = llm.record,
                         .replay = llm.replay,
                         .prompts = llm.prompts,
                         .notes = llm.notes};
  if (llm.max_tokens > 0) out.budget.tokens = llm.max_tokens;
  if (llm.max_dollars > 0) out.budget.dollars = llm.max_dollars;
  return out;
}

void add_brains(Flags& flags, BrainFlags& brains, const std::string& over) {
  flags("--planner", brains.planner, "BRAIN",
        "the Planner: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  flags("--coder", brains.coder, "BRAIN", "the Coder: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  flags("--verifier", brains.verifier, "BRAIN",
        "who explains failed gates: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  flags("--coder-style", brains.coder_style, "STYLE",
        "answer: one request per attempt; agent: with tools, over several turns (default: answer)");
  flags("--llm-regions", brains.llm_regions, "NUMBER",
        "how many regions an LLM Coder writes, largest expected gain first (default: 3)")
      .between(1, 1000);
  flags("--llm-samples", brains.llm_samples, "NUMBER",
        "answers for each region at the same time; the fastest that passes is kept (default: 1)")
      .between(1, 64);
  flags("--llm-rounds", brains.llm_rounds, "NUMBER",
        "how often a region is come back to while it is far from its floor (default: 1)")
      .between(1, 64);
  flags("--whole-program", brains.whole_program, "an LLM Coder writes the whole forward pass as one source");
  flags("--llm-budget", brains.llm_budget, "SECONDS",
        "seconds for steps by language models, judging included, beside --budget (default: 600)")
      .positive();
  add_llm(flags, brains, over);
}

Result<agents::LlmOptions> llm_options(const BrainFlags& brains) {
  agents::LlmOptions out = llm_options(static_cast<const LlmFlags&>(brains));
  STITCH_TRY(out.style, agents::parse_coder_style(brains.coder_style));
  out.regions = brains.llm_regions;
  out.samples = brains.llm_samples;
  out.rounds = brains.llm_rounds;
  out.time_budget = std::chrono::seconds(brains.llm_budget);
  out.whole = brains.whole_program;
  return out;
}

Result<void> check_brains(const BrainFlags& brains) {
  STITCH_TRY(agents::LlmOptions options, llm_options(brains));
  std::shared_ptr<agents::LlmSession> session;
  for (const auto& [name, agent] :
       {std::pair(&brains.planner, llm::Agent::planner), std::pair(&brains.coder, llm::Agent::coder),
        std::pair(&brains.verifier, llm::Agent::verifier)}) {
    if (*name == "builtin") continue;
    if (!session) {
      STITCH_TRY(session, agents::LlmSession::open(options, {}));
    }
    STITCH_CHECK(session->brain(*name, agent));
  }
  return {};
}

std::vector<std::string> words_of(const BrainFlags& brains, size_t tasks) {
  const BrainFlags usual;
  std::vector<std::string> out;
  auto add = [&](const char* flag, const auto& value, const auto& otherwise) {
    if (value != otherwise) out.insert(out.end(), {flag, format("{}", value)});
  };
  auto add_path = [&](const char* flag, const std::string& path) {
    if (!path.empty()) out.insert(out.end(), {flag, fs::absolute(path).lexically_normal().string()});
  };
  const auto shares = static_cast<int64_t>(std::max<size_t>(tasks, 1));
  add("--planner", brains.planner, usual.planner);
  add("--coder", brains.coder, usual.coder);
  add("--verifier", brains.verifier, usual.verifier);
  add("--coder-style", brains.coder_style, usual.coder_style);
  add("--llm-regions", brains.llm_regions, usual.llm_regions);
  add("--llm-samples", brains.llm_samples, usual.llm_samples);
  add("--llm-rounds", brains.llm_rounds, usual.llm_rounds);
  add("--llm-budget", brains.llm_budget, usual.llm_budget);
  if (brains.whole_program) out.emplace_back("--whole-program");
  if (brains.max_tokens > 0) add("--max-tokens", std::max<int64_t>(brains.max_tokens / shares, 1), 0);
  if (brains.max_dollars > 0) add("--max-dollars", brains.max_dollars / static_cast<double>(shares), 0.0);
  add_path("--config", brains.config);
  add_path("--prompts", brains.prompts);
  add_path("--notes", brains.notes);
  return out;
}

}  // namespace stitch
