#include "verify/judge.h"

namespace stitch::verifier {

Comparison judge_output(const Session& session, const Trial& trial, size_t output,
                        const TensorBytes& values) {
  Judging judging{.numerics = session.options.numerics};
  if (output < trial.sensitivity.size()) judging.sensitivity = trial.sensitivity[output];
  const TensorBytes* pytorch = trial.pytorch.size() ? &trial.pytorch[output] : nullptr;
  return compare(values, trial.truth[output], pytorch, judging);
}

bool passes(const Session& session, const Trial& trial, size_t output, const TensorBytes& values) {
  return judge_output(session, trial, output, values).passed;
}

}  // namespace stitch::verifier
