#include "agents/brains.h"

#include "agents/llm/llm_session.h"

namespace stitch::agents {

namespace {

Result<void> check(std::string_view role, std::string_view brain, llm::Agent agent, LlmSession* session) {
  if (brain == "builtin") return {};
  if (!is_llm(brain))
    return user_error("brain", format("unknown {} '{}'", role, brain),
                      "builtin, or llm:PROFILE[/MODEL]: stitchcuda llm list shows the profiles");
  require(session != nullptr, "an LLM brain has a session");
  STITCH_CHECK(session->brain(brain, agent));
  return {};
}

}  // namespace

Result<void> check_brains(const BrainNames& names, LlmSession* session) {
  STITCH_CHECK(check("Planner", names.planner, llm::Agent::planner, session));
  STITCH_CHECK(check("Coder", names.coder, llm::Agent::coder, session));
  return check("Verifier", names.verifier, llm::Agent::verifier, session);
}

Result<std::unique_ptr<Planner>> make_planner(const BrainNames& names, bool measured_ledger,
                                              LlmSession* session) {
  std::unique_ptr<Planner> out = best_first_planner(measured_ledger);
  if (is_llm(names.planner)) {
    STITCH_TRY(LlmBrain brain, session->brain(names.planner, llm::Agent::planner));
    out = llm_planner(std::move(brain), std::move(out));
  }
  if (is_llm(names.coder))
    out = writing_planner(std::move(out), session->options().regions, session->options().whole,
                          session->options().rounds);
  return out;
}

Result<std::unique_ptr<Coder>> make_coder(const BrainNames& names, LlmSession* session) {
  if (!is_llm(names.coder)) return builtin_coder();
  STITCH_TRY(LlmBrain brain, session->brain(names.coder, llm::Agent::coder));
  return session->options().style == CoderStyle::agent ? llm_agent_coder(std::move(brain))
                                                       : llm_answer_coder(std::move(brain));
}

Result<std::unique_ptr<Verifier>> make_verifier(const BrainNames& names,
                                                std::unique_ptr<verifier::Verifier> opened,
                                                const VerifierSetup& setup, LlmSession* session) {
  std::unique_ptr<Verifier> gates = builtin_verifier(std::move(opened), setup);
  if (!is_llm(names.verifier)) return gates;
  STITCH_TRY(LlmBrain brain, session->brain(names.verifier, llm::Agent::verifier));
  return llm_verifier(std::move(brain), std::move(gates));
}

}  // namespace stitch::agents
