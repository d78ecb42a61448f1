// What the LLM brains of one run share: profiles, budget, transcript, prompts, notes.
#pragma once

#include <chrono>

#include "agents/llm/llm_brains.h"
#include "llm/account.h"
#include "llm/connect.h"

namespace stitch::agents {

enum class CoderStyle : uint8_t {
  answer,  // one request, one source
  agent,   // with tools, over several turns
};
Result<CoderStyle> parse_coder_style(std::string_view name);

struct LlmOptions {
  fs::path config;  // empty: where load_config looks
  CoderStyle style = CoderStyle::answer;
  int regions = 3;     // that the Coder writes
  int rounds = 1;      // at most, for each of them
  bool whole = false;  // instead, the whole forward pass as one source
  int max_turns = 24;  // of an agent, for one region
  int samples = 1;     // answers for one region at the same time, in the style `answer`
  llm::Budget budget;
  std::chrono::seconds time_budget{600};  // for steps by models, judging included
  fs::path record, replay;                // transcripts; empty: none
  fs::path prompts, notes;                // the user's folders; empty: built-in ones only
};

// "llm:PROFILE[/MODEL]"
bool is_llm(std::string_view brain);

class LlmSession {
 public:
  static Result<std::shared_ptr<LlmSession>> open(LlmOptions options,
                                                  std::function<void(std::string_view)> on_progress);
  // An error where the profile or its key is missing: before any work is done.
  Result<LlmBrain> brain(std::string_view words, llm::Agent agent);
  // For a recorded run: recorded exchanges are replayed first, and new ones are passed to `tell`.
  Result<void> go_on(const std::vector<std::string>& conversation,
                     std::function<void(std::string_view)> tell);
  const LlmOptions& options() const { return options_; }
  const llm::Account& account() const { return account_; }

 private:
  explicit LlmSession(LlmOptions options) : options_(std::move(options)), account_(options_.budget) {}

  LlmOptions options_;
  Result<void> keep(const Json& exchange) const;
  class GoingOn;

  llm::Config config_;
  llm::Account account_;
  llm::TranscriptSink file_;                    // empty: none
  std::function<void(std::string_view)> tell_;  // empty: not recorded
  std::shared_ptr<llm::Transcript> earlier_;    // null: no earlier exchanges
  std::shared_ptr<llm::Transcript> replay_;
  Prompts prompts_;
  notes::Collection notes_;
  std::function<void(std::string_view)> on_progress_;
};

}  // namespace stitch::agents
