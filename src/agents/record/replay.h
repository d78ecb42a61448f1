// Recorded answers for resuming a killed run.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agents/loop/tune.h"
#include "agents/roles.h"
#include "verify/verdict.h"

namespace stitch::agents {

class Replay {
 public:
  // A verdict, or an error that says nothing about the program.
  using Answer = Result<verifier::Verdict>;

  virtual ~Replay() = default;
  // Seconds of the budget used; during replay, the recorded time.
  virtual double elapsed() const = 0;
  // The tuner's result, if it had finished.
  virtual std::optional<Tuned> tuned() const = 0;
  // The next unused answer under this key; nothing: the Verifier must judge.
  virtual std::optional<Answer> answer(const std::string& key) = 0;
  virtual void answered(const std::string& key, const Answer& answer) = 0;
};

// A Verifier that replays verdicts from before the run was killed. The real one is opened on the first new
// request.

using OpenVerifier = std::function<Result<std::unique_ptr<Verifier>>()>;

std::unique_ptr<Verifier> remembered_verifier(OpenVerifier open, Replay& replay);

// Identifies a request: every file of the program except its weights and record, and how it is judged.
Result<std::string> judging_key(const fs::path& program, Judging judging);

}  // namespace stitch::agents
