// stitch_run enqueues on the caller's stream. The runner waits for the whole device around its calls, and so
// doesn't see work that is on another stream and was never ordered with the caller's: a caller would read
// garbage. Here inputs come, and outputs are taken, in the stream alone.
#include <nlohmann/json.hpp>

#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

Error out_of_order(const std::string& what) {
  return found("stream_order",
               what +
                   "; launch everything on the stream that stitch_run is given, or let other streams wait "
                   "for it by an event, and it for them");
}

Result<void> right_as_the_stream_sees_it(Session& session, const Trial& trial, const Observed& observed,
                                         std::string_view how) {
  for (size_t i = 0; i < observed.outputs.size(); ++i) {
    STITCH_TRY(Comparison comparison, judge_output(session, trial, i, observed.outputs[i]));
    if (!comparison.passed)
      return out_of_order(format("{}, '{}' is wrong where the caller's stream reads it: {}", how,
                                 session.task.signature.outputs[i].name, comparison.reason));
  }
  return {};
}

// Two programs of the library on two streams, as two threads have them: the kernels of one call run between
// those of the other, and scratch memory that they share is overwritten.
Result<void> right_beside_another(Session& session, Attempt& attempt, const Trial& trial) {
  if (session.options.device != runner::Device::emulated) return {};
  STITCH_CHECK(attempt.create_other(session.task.signature.parameters.empty() ? Weights::task
                                                                              : Weights::reparameterised));
  STITCH_TRY(Observed observed,
             attempt.ask(trial, {.poison = session.next_seed(), .in_stream = runner::InStream::beside}));
  for (size_t i = 0; i < observed.outputs.size(); ++i) {
    if (observed.called.captured != runner::Captured::complete) break;
    STITCH_TRY(Comparison comparison, judge_output(session, trial, i, observed.outputs[i]));
    if (!comparison.passed)
      return found("shared_state",
                   format("while another program of the library runs on another stream, '{}' is wrong: {}",
                          session.task.signature.outputs[i].name, comparison.reason));
  }
  STITCH_CHECK(attempt.destroy_other());
  return {};
}

}  // namespace

Result<void> right_in_a_callers_stream(Session& session, Attempt& attempt, Json& evidence) {
  const Trial& trial = session.trials[0];
  if (session.options.quick || session.large() || trial.held) return {};
  // The emulated GPU's streams run nothing by themselves: there is nothing to be late for.
  const int held = session.options.device == runner::Device::cuda ? 3 : 0;
  for (int call = 0; call < held; ++call) {
    STITCH_TRY(Observed observed,
               attempt.ask(trial, {.poison = session.next_seed(), .in_stream = runner::InStream::held}));
    STITCH_CHECK(right_as_the_stream_sees_it(session, trial, observed, "behind other work in its stream"));
  }
  STITCH_TRY(Observed observed,
             attempt.ask(trial, {.poison = session.next_seed(), .in_stream = runner::InStream::captured}));
  switch (observed.called.captured) {
    case runner::Captured::unjoined:
      return out_of_order("it leaves work on a stream that the caller's stream never waits for");
    case runner::Captured::complete:
      evidence["captured"] = true;
      STITCH_CHECK(right_as_the_stream_sees_it(session, trial, observed, "captured in a CUDA graph"));
      return right_beside_another(session, attempt, trial);
    case runner::Captured::broken:
      evidence["captured"] = false;
      session.notes.push_back(
          "stitch_run can't be captured in a CUDA graph: it waits for the device, or "
          "doesn't enqueue on the stream it is given");
      session.attempt.reset();  // a broken capture may have left it unusable
      return {};
  }
  return {};
}

}  // namespace stitch::verifier
