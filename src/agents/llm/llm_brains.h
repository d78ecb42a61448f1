// Brains that use a language model. Their prompts are in prompts/ (Markdown with named values); answers are
// checked before they are used.
#pragma once

#include <map>

#include "agents/brains.h"
#include "llm/chat.h"
#include "notes/collection.h"

namespace stitch::agents {

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

}  // namespace stitch::agents
