// How it behaves besides being right: every element written, inputs left alone, the same answer three
// times and after another question, states renewed in place, wrong arguments refused, no threads left.
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/judge.h"

namespace stitch::verifier {

namespace {

const std::string& output_name(const Session& session, size_t i) {
  return session.task.signature.outputs[i].name;
}

// Two poisons: an element that still holds both was never written. NaN poison has already failed floats.
Result<void> all_written(const Session& session, const Tensors& first, const Tensors& second,
                         const Trial& trial) {
  for (size_t i = 0; i < first.size(); ++i) {
    if (identical(first[i], second[i])) continue;
    if (!passes(session, trial, i, second[i]))
      return found("unwritten",
                   format("output '{}' holds what was there before where it should have been written",
                          output_name(session, i)));
  }
  return {};
}

Result<void> inputs_unchanged(Session& session, Attempt& attempt, const Trial& trial) {
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    STITCH_TRY(BulkBytes now, attempt.input(-1, i));
    if (!equal_bulk(now.bytes, trial.inputs[i].bytes))
      return found("inputs_changed",
                   format("it wrote to its input '{}'", session.task.signature.inputs[i].name));
  }
  return {};
}

Result<void> repeatable(Session& session, Attempt& attempt, const Trial& trial, const Tensors& first,
                        Json& evidence) {
  for (int run = 0; run < 2; ++run) {
    STITCH_TRY(Observed again, attempt.repeat({.poison = session.next_seed()}));
    for (size_t i = 0; i < first.size(); ++i) {
      if (identical(first[i], again.outputs[i])) continue;
      session.deterministic = false;
      Comparison comparison = judge_output(session, trial, i, again.outputs[i]);
      if (!comparison.passed)
        return found("not_repeatable", format("run {} of the same inputs gives another '{}': {}", run + 2,
                                              output_name(session, i), comparison.reason));
    }
  }
  evidence["deterministic"] = session.deterministic;
  return {};
}

// Another question in between: whoever keeps results by address or by call number is stale now.
Result<void> not_stale(Session& session, Attempt& attempt) {
  if (session.trials.size() < 2) return {};  // a quick look has no other question
  for (size_t turn : {1u, 0u, 1u}) {
    const Trial& trial = session.trials[turn];
    STITCH_TRY(Observed observed, attempt.ask(trial, {.poison = session.next_seed()}));
    for (size_t i = 0; i < observed.outputs.size(); ++i)
      if (Comparison comparison = judge_output(session, trial, i, observed.outputs[i]); !comparison.passed)
        return found("stale", format("asked again after other inputs, '{}' is wrong: {}",
                                     output_name(session, i), comparison.reason));
  }
  return {};
}

Result<bool> renews_in_place(Session& session, Attempt& attempt) {
  bool has_states = false;
  for (const ManifestTensor& output : session.task.signature.outputs) has_states |= output.role == "update";
  if (!has_states || session.python) return false;
  const Trial& trial = session.trials[0];
  STITCH_TRY(Observed observed, attempt.ask(trial, {.poison = session.next_seed(), .states_in_place = true}));
  for (size_t i = 0; i < observed.outputs.size(); ++i)
    if (Comparison comparison = judge_output(session, trial, i, observed.outputs[i]); !comparison.passed)
      return found("states", format("with states renewed in place, '{}' is wrong: {}",
                                    output_name(session, i), comparison.reason));
  return true;
}

// Neighbouring shapes, another dtype, too few arguments: an error and a message, not a crash or a result.
Result<int> refuses_others(Session& session, Attempt& attempt) {
  std::vector<runner::TensorAt> good;
  int64_t largest = 0;
  for (const ManifestTensor& input : session.task.signature.inputs) {
    good.push_back({{input.type.dtype, input.type.shape, {}}, 0});
    largest = std::max(largest, input.type.bytes());
  }
  STITCH_TRY(int64_t offset, session.arena.allocate(2 * largest + 4096));  // room for the grown ones too
  for (runner::TensorAt& tensor : good) tensor.offset = offset;
  int tried = 0;
  auto refused = [&](const std::vector<runner::TensorAt>& inputs, const std::vector<TensorType>& outputs,
                     const std::string& what) -> Result<void> {
    ++tried;
    STITCH_TRY(int status, or_found(attempt.candidate().call_with(inputs, outputs), "it was given " + what));
    if (status == 0) return found("accepts_anything", format("it was given {} and did not refuse", what));
    return {};
  };
  for (size_t i = 0; i < good.size(); ++i) {
    auto changed = good;
    Shape& shape = changed[i].type.shape;
    if (shape.empty())
      shape = {2};
    else
      shape.back() += 1;
    STITCH_CHECK(refused(changed, attempt.output_types(),
                         format("{} as '{}'", text(changed[i].type), session.task.signature.inputs[i].name)));
  }
  if (!good.empty()) {
    auto changed = good;
    changed[0].type.dtype = changed[0].type.dtype == DType::f32 ? DType::f16 : DType::f32;
    STITCH_CHECK(refused(changed, attempt.output_types(),
                         format("{} as '{}'", text(changed[0].type), session.task.signature.inputs[0].name)));
    changed = good;
    changed.pop_back();
    STITCH_CHECK(refused(changed, attempt.output_types(), "an input too few"));
  }
  auto outputs = attempt.output_types();
  outputs.push_back(outputs.back());
  STITCH_CHECK(refused(good, outputs, "an output too many"));
  return tried;
}

}  // namespace

Result<Passed> conduct(Session& session, Json& evidence) {
  if (session.trials.empty()) return skipped("no trial to repeat");
  STITCH_TRY(Attempt attempt, Attempt::start(session, Weights::task));
  const Trial& trial = session.trials[0];
  STITCH_TRY(Observed first, attempt.ask(trial, {.poison = 0x0123456789abcdef}));
  STITCH_CHECK(inputs_unchanged(session, attempt, trial));
  STITCH_TRY(Observed second, attempt.repeat({.poison = 0xfedcba9876543210}));
  STITCH_CHECK(all_written(session, first.outputs, second.outputs, trial));
  STITCH_CHECK(repeatable(session, attempt, trial, first.outputs, evidence));
  STITCH_CHECK(not_stale(session, attempt));
  STITCH_TRY(bool states, renews_in_place(session, attempt));
  if (states) evidence["states_in_place"] = true;
  STITCH_TRY(Observed last, attempt.repeat({.poison = session.next_seed()}));
  evidence["threads"] = {last.called.threads_before, last.called.threads_after};
  if (last.called.threads_after > first.called.threads_before &&
      last.called.threads_after > second.called.threads_after)
    return found("threads_left", format("{} threads before, {} after: it leaves threads running",
                                        first.called.threads_before, last.called.threads_after));
  int refusals = 0;
  if (!session.python) {
    STITCH_TRY(refusals, refuses_others(session, attempt));
    evidence["wrong_arguments_refused"] = refusals;
  }
  std::string summary = session.deterministic ? "three runs equal to the bit" : "three runs agree";
  if (refusals) summary += format(", {} wrong calls refused", refusals);
  return Passed{summary};
}

}  // namespace stitch::verifier
