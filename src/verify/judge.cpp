#include "verify/judge.h"

namespace stitch::verifier {

Comparison judge_output(const Session& session, const Trial& trial, size_t output,
                        const TensorBytes& values) {
  Judging judging{.numerics = session.options.numerics};
  if (output < trial.sensitivity.size()) judging.sensitivity = trial.sensitivity[output];
  if (trial.pytorch.size() == 0) return compare(values, trial.truth[output], nullptr, judging);
  trial.pytorch_distances.resize(trial.pytorch.size());
  std::optional<Distance>& known = trial.pytorch_distances[output];
  if (!known) known = distance(trial.pytorch[output], trial.truth[output]);
  return compare(values, trial.truth[output], &trial.pytorch[output], judging, &*known);
}

bool passes(const Session& session, const Trial& trial, size_t output, const TensorBytes& values) {
  return judge_output(session, trial, output, values).passed;
}

}  // namespace stitch::verifier
