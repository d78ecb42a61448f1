#include "cli/flags/brains.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace stitch {

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
  flags("--max-tokens", brains.max_tokens, "NUMBER", ("token limit " + over).c_str()).positive();
  flags("--max-dollars", brains.max_dollars, "NUMBER", ("cost limit " + over + ", in dollars").c_str())
      .positive();
  flags("--config", brains.config, "FILE",
        "file with LLM profiles (default: ./stitchcuda.toml, then the user's config.toml)");
  flags("--prompts", brains.prompts, "FOLDER", "a folder of your own prompts (see stitchcuda prompts)");
  flags("--notes", brains.notes, "FOLDER", "a folder of your own notes (see stitchcuda notes)");
}

Result<agents::LlmOptions> llm_options(const BrainFlags& brains) {
  agents::LlmOptions out;
  out.config = brains.config;
  STITCH_TRY(out.style, agents::parse_coder_style(brains.coder_style));
  out.regions = brains.llm_regions;
  out.samples = brains.llm_samples;
  out.rounds = brains.llm_rounds;
  out.time_budget = std::chrono::seconds(brains.llm_budget);
  out.whole = brains.whole_program;
  if (brains.max_tokens > 0) out.budget.tokens = brains.max_tokens;
  if (brains.max_dollars > 0) out.budget.dollars = brains.max_dollars;
  out.prompts = brains.prompts;
  out.notes = brains.notes;
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
