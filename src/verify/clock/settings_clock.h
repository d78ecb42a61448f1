// A program that passed the gates, with other settings: is it still right, and how long does a call take? The
// best so far and one that challenges it live at the same time and are timed in turns, so that drift cancels.
#pragma once

#include <memory>
#include <string>

#include "runner/candidate.h"

namespace stitch::verifier {

struct Session;

class SettingsClock {
 public:
  struct Round {
    double best = 0, challenger = 0;  // seconds a call: medians of a few
  };
  virtual ~SettingsClock() = default;
  // The program with these settings is the challenger from now on, and right on inputs that were judged. An
  // Error of the user's kind says why it is out of the question: refused, wrong, hung, crashed. The next one
  // is not harmed by it.
  virtual Result<void> challenge(const runner::Settings& settings) = 0;
  // An Error of the user's kind: the challenger failed while it was timed.
  virtual Result<Round> round() = 0;
  // The challenger is the best.
  virtual void crown() = 0;
  // What the times hold for: the GPU, and the versions of the program's libraries.
  virtual std::string machine() const = 0;
};

// Builds and starts the session's program as it ships; that is the best at first.
Result<std::unique_ptr<SettingsClock>> open_settings_clock(std::unique_ptr<Session> session);

}  // namespace stitch::verifier
