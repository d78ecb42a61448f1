// Which brain implements each role.
#pragma once

#include "agents/roles.h"
#include "verify/verify.h"

namespace stitch::agents {

struct BrainNames {
  std::string planner = "builtin", coder = "builtin", verifier = "builtin";
};

class LlmSession;

// By name: "builtin", or "llm:PROFILE[/MODEL]". `session` may be null if none is an LLM. An error lists the
// choices.
// `measured_ledger`: the best program is also timed without each of its steps.
Result<std::unique_ptr<Planner>> make_planner(const BrainNames& names, bool measured_ledger,
                                              LlmSession* session);
Result<std::unique_ptr<Coder>> make_coder(const BrainNames& names, LlmSession* session);
// Uses the opened verifier; renew() opens a new one. `options`: of the program that ships; a step's has the
// quick checks, no baselines, and new questions.
Result<std::unique_ptr<Verifier>> make_verifier(const BrainNames& names,
                                                std::unique_ptr<verifier::Verifier> opened,
                                                const verifier::VerifyOptions& options, LlmSession* session);
// Checks names and API keys before any work is done.
Result<void> check_brains(const BrainNames& names, LlmSession* session);

// The built-in ones.
std::unique_ptr<Planner> best_first_planner(bool measured_ledger = false);
std::unique_ptr<Planner> given_plan_planner(plan::Plan plan);  // the one step "plan"
std::unique_ptr<Coder> builtin_coder();
std::unique_ptr<Verifier> builtin_verifier(std::unique_ptr<verifier::Verifier> opened,
                                           verifier::VerifyOptions options);

}  // namespace stitch::agents
