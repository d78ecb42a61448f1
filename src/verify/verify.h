// stitchcuda verify: a program and a task in, a verdict with evidence out.
#pragma once

#include <memory>

#include "reference/open_reference.h"
#include "verify/clock/settings_clock.h"
#include "verify/session.h"
#include "verify/verdict.h"

namespace stitch::verifier {

// A task with its reference at hand, before which programs come one after the other.
class Verifier {
 public:
  // Of the options, numerics, device and baselines are looked at; warnings and notices about the task are
  // given.
  static Result<std::unique_ptr<Verifier>> open(OpenedTask task, const VerifyOptions& options);
  static std::unique_ptr<Verifier> open(std::unique_ptr<OpenReference> reference,
                                        const VerifyOptions& options);
  virtual ~Verifier() = default;
  // An Error is a mistake in the request or trouble of our own; whatever the candidate does is a verdict.
  // From several threads at once where side_by_side() says so; others wait for their turn.
  virtual Result<Verdict> judge(const VerifyOptions& options) = 0;
  // Whether others can be judged meanwhile: all of them ask one reference, each of their processes is its
  // own.
  virtual bool side_by_side(const VerifyOptions& options) const = 0;
  // Compiles the program, so that judge() finds it built. From several threads at once.
  virtual void build_ahead(const VerifyOptions& options) const = 0;
  // Of a program that passed; `options` and the verifier outlive the clock.
  virtual Result<std::unique_ptr<SettingsClock>> settings_clock(const VerifyOptions& options) = 0;
  // What its questions tell apart of this task, whatever program comes (adequacy/measure.h).
  virtual Result<Json> adequacy(const VerifyOptions& options, double work) = 0;
  virtual const TaskGraph& task() const = 0;
};

// One program, from beginning to end.
Result<Verdict> verify(const fs::path& task, const VerifyOptions& options,
                       const TaskOptions& task_options = {});

}  // namespace stitch::verifier
