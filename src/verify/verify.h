// stitchcuda verify: a program and a task in, a verdict with evidence out.
#pragma once

#include <map>
#include <memory>

#include "verify/session.h"
#include "verify/settings_clock.h"
#include "verify/verdict.h"

namespace stitch::verifier {

// A task with its reference at hand, before which programs come one after the other.
class Verifier {
 public:
  // Imports the task and starts the reference. `options.program` is not looked at.
  static Result<std::unique_ptr<Verifier>> open(const VerifyOptions& options);
  virtual ~Verifier() = default;
  // An Error is a mistake in the request or trouble of our own; whatever the candidate does is a verdict.
  virtual Result<Verdict> judge(const VerifyOptions& options) = 0;
  // Of a program that passed; `options` and the verifier outlive the clock.
  virtual Result<std::unique_ptr<SettingsClock>> settings_clock(const VerifyOptions& options) = 0;
  // Which convolutions PyTorch was seen to do in TF32 where it runs, by node; nothing without PyTorch.
  virtual Result<std::map<int32_t, bool>> tf32_convolutions() = 0;
  virtual const TaskGraph& task() const = 0;
};

// One program, from beginning to end.
Result<Verdict> verify(const VerifyOptions& options);

}  // namespace stitch::verifier
