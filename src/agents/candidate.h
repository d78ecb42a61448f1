// A language model writes a whole candidate for a task and improves it from the Verifier's feedback, without
// plans or steps. This is how CUDA-writing models are compared.
#pragma once

#include "agents/llm/llm_session.h"
#include "plan/context.h"

namespace stitch::agents {

enum class CandidateForm : uint8_t {
  model_new,  // a Python file with ModelNew, as in KernelBench
  program,    // a CUDA source with the program's C interface
};
std::string_view name(CandidateForm form);
Result<CandidateForm> parse_candidate_form(std::string_view name);

struct CandidateTry {
  std::string source;  // empty: the model gave none
  Outcome outcome = Outcome::no_answer;
  std::optional<verifier::Verdict> verdict;
  double seconds = 0;   // per call; 0: incorrect, or not timed
  std::string why;      // why it failed, in one line
  bool wholly = false;  // judged by every gate, not only by the quick checks
};

struct WrittenCandidate {
  std::vector<CandidateTry> tries;
  int best = -1;      // the fastest that passed; -1: none
  std::string ended;  // why the model was asked no more; empty: it had its tries, or one did
  std::string author;
  std::shared_ptr<const Json> llm;  // tokens and cost
};

struct CandidateOptions {
  fs::path model;
  TaskOptions task;
  std::string coder;                 // llm:PROFILE[/MODEL]
  std::string verifier = "builtin";  // who explains failed gates
  CandidateForm form = CandidateForm::model_new;
  int tries = 4;
  std::chrono::seconds budget{600};  // the model is asked no longer; what it wrote is judged all the same
  GpuSpec gpu;
  verifier::VerifyOptions verify;  // of the best one; the others get the quick checks
  LlmOptions llm;
  std::function<bool()> should_stop;
  std::function<void(std::string_view)> on_warning;
  // The tries so far, after each one: whatever ends the run later, these are not lost.
  std::function<Result<void>(const WrittenCandidate&)> keep;
};

// What a whole program's source must contain word for word: which tensors come in which order.
Result<std::string> manifest_to_hold(const plan::Context& context);
// program.cu or model_new.py
std::string file_name(CandidateForm form);

// An error only if nothing could be tried at all.
Result<WrittenCandidate> write_candidate(const CandidateOptions& options);

}  // namespace stitch::agents
