// Recorded answers for resuming a killed run.
#pragma once

#include <optional>
#include <string>

#include "agents/loop/tune.h"
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

}  // namespace stitch::agents
