// On the emulated GPU the threads of a block may run in any order between two barriers. A program whose
// result depends on the order misses one.
#include <nlohmann/json.hpp>

#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/judge.h"

namespace stitch::verifier {

Result<Passed> thread_order(Session& session, Json&) {
  if (session.options.device != runner::Device::emulated || session.python)
    return skipped("only the emulated GPU can choose it");
  if (session.trials.empty()) return skipped("no trial to repeat");
  const Trial& trial = session.trials[0];
  for (auto [order, word] : {std::pair{runner::ThreadOrder::reversed, "reversed"},
                             std::pair{runner::ThreadOrder::shuffled, "shuffled"}}) {
    STITCH_TRY(Attempt attempt, Attempt::start(session, Weights::task, order));
    STITCH_TRY(Observed observed, attempt.ask(trial, {.poison = session.next_seed()}));
    for (size_t i = 0; i < observed.outputs.size(); ++i) {
      STITCH_TRY(Comparison comparison, judge_output(session, trial, i, observed.outputs[i]));
      if (!comparison.passed)
        return found("missing_barrier", format("with {} thread order '{}' is wrong: {}", word,
                                               session.task.signature.outputs[i].name, comparison.reason));
    }
  }
  return Passed{"forward, reversed and shuffled agree"};
}

}  // namespace stitch::verifier
