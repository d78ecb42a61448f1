// Brains that ask a language model. What they are told is in prompts/ (Markdown with named values); what they
// answer is checked before anybody uses it.
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
  std::string author;  // "llm:qwen/qwen2.5-coder": who stands in the ledger
  Prompts prompts;
  const notes::Collection* notes = nullptr;
  int64_t max_turns = 24;  // of a Coder with tools
  std::function<void(std::string_view)> on_progress;
};

// One request, one answer: the source of a region in a fence.
std::unique_ptr<Coder> llm_answer_coder(LlmBrain brain);
// With tools in a folder of its own: read, write, check, profile, search the notes, submit.
std::unique_ptr<Coder> llm_agent_coder(LlmBrain brain);
// Plans as documents, checked before they are proposed; the built-in plan comes first.
std::unique_ptr<Planner> llm_planner(LlmBrain brain, std::unique_ptr<Planner> builtin);
// The gates judge; what their reports mean is the model's to say. Without an answer the rules speak.
std::unique_ptr<Verifier> llm_verifier(LlmBrain brain, std::unique_ptr<Verifier> gates);

// After the steps of `inner`: regions worth a kernel of their own, the one with most to gain first, for a
// Coder that can write them. `whole`: the whole pass as one region, instead.
std::unique_ptr<Planner> writing_planner(std::unique_ptr<Planner> inner, int regions, bool whole = false);

}  // namespace stitch::agents
