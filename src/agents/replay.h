// What the loop asks of a run that goes on where it was killed: answers that were given before.
#pragma once

#include <optional>
#include <string>

#include "agents/tune.h"
#include "verify/verdict.h"

namespace stitch::agents {

class Replay {
 public:
  // What the Verifier said of a program: a verdict, or trouble of our own.
  using Answer = Result<verifier::Verdict>;

  virtual ~Replay() = default;
  // Seconds of the budget that are gone. While old answers are given, as many as had gone by then.
  virtual double elapsed() const = 0;
  // What the tuner had found, if it had come to its end.
  virtual std::optional<Tuned> tuned() const = 0;
  // The next answer under this key that was not given yet; nothing: the Verifier has to be asked.
  virtual std::optional<Answer> answer(const std::string& key) = 0;
  virtual void answered(const std::string& key, const Answer& answer) = 0;
};

}  // namespace stitch::agents
