// What the LLM brains of one run share: profiles, budget, transcript, prompts, notes.
#pragma once

#include <chrono>
#include <map>

#include "agents/brains.h"
#include "llm/account.h"
#include "llm/chat.h"
#include "llm/connect.h"
#include "notes/note.h"

namespace stitch::agents {

// Brains that use a language model. Their prompts are in prompts/ (Markdown with named values); answers are
// checked before they are used.

// A prompt by its name, its values filled in.
using PromptValues = std::map<std::string, std::string>;
using Prompts = std::function<Result<std::string>(std::string_view name, const PromptValues& values)>;

struct LlmBrain {
  std::shared_ptr<llm::Chat> chat;
  std::string author;  // "llm:qwen/qwen2.5-coder": the author in the ledger
  Prompts prompts;
  const notes::Collection* notes = nullptr;
  int64_t max_turns = 24;    // of a Coder with tools
  int samples = 1;           // answers of a Coder for one region, at the same time
  int64_t context = 128000;  // tokens of the model: documents in prompts are made to fit
  std::function<void(std::string_view)> on_progress;
};

// Bytes of a prompt that one document may take.
size_t share_of_prompt(const LlmBrain& brain, double share);

// One request, one answer: the source of a region in a code block.
std::unique_ptr<Coder> llm_answer_coder(LlmBrain brain);
// With tools: read, write, check, profile, search the notes, submit.
std::unique_ptr<Coder> llm_agent_coder(LlmBrain brain);
// Plans as documents, checked before they are proposed; the built-in plan comes first.
std::unique_ptr<Planner> llm_planner(LlmBrain brain, std::unique_ptr<Planner> builtin);
// The gates judge; the model explains their reports. Without an answer the built-in rules do.
std::unique_ptr<Verifier> llm_verifier(LlmBrain brain, std::unique_ptr<Verifier> gates);

// After the steps of `inner`: regions for the LLM Coder to write, largest expected gain first, then again up
// to `rounds` times, where there is still most to gain for the rounds that it took. `whole`: the whole
// forward pass as one region instead.
std::unique_ptr<Planner> writing_planner(std::unique_ptr<Planner> inner, int regions, bool whole = false,
                                         int rounds = 1);

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
