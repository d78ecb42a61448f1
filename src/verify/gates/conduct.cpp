// How it behaves besides being right: every element written, inputs left alone, the same answer three
// times, after another question and with other contents at the same addresses, states renewed in place,
// tensors without alignment, wrong arguments refused, no threads left.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/bulk.h"
#include "base/error_codes.h"
#include "base/machine/fair_time.h"
#include "base/text.h"
#include "program/include/stitch/program.h"
#include "reference/torch_reference.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

const std::string& output_name(const Session& session, size_t i) {
  return session.task.signature.outputs[i].name;
}

// What outputs were, beyond the next question, which takes their memory again. Of those on the device only
// fingerprints are kept.
struct Kept {
  Tensors outputs;
  std::vector<std::string> fingerprints;  // empty for those that are here

  size_t size() const { return outputs.size(); }
};

// Empty if it isn't on the device.
Result<std::string> fingerprint_of(Session& session, const TensorBytes& output) {
  auto offset = session.torch ? session.torch->on_device(output.bytes) : std::nullopt;
  if (!offset) return std::string();
  return session.torch->fingerprint(*offset, std::ssize(output.bytes));
}

Result<Kept> keep(Session& session, const Tensors& outputs) {
  Kept out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    STITCH_TRY(std::string fingerprint, fingerprint_of(session, outputs[i]));
    out.fingerprints.push_back(std::move(fingerprint));
    if (!out.fingerprints.back().empty()) {
      out.outputs.add({outputs[i].type, {}}, nullptr);
    } else if (session.arena.offset_of(outputs[i].bytes)) {
      BulkBytes copy = bulk_copy_of(outputs[i].bytes);
      out.outputs.add({outputs[i].type, copy.bytes}, copy.owner);
    } else {
      out.outputs.add(outputs[i], outputs.owners[i]);
    }
  }
  return out;
}

Result<bool> equal_to_the_bit(Session& session, const Kept& first, size_t i, const TensorBytes& again) {
  if (first.fingerprints[i].empty()) return identical(first.outputs[i], again);
  STITCH_TRY(std::string fingerprint, fingerprint_of(session, again));
  return fingerprint == first.fingerprints[i];
}

// Equal to the bit, or right: `wrong` is what it is called otherwise.
Result<void> agrees(Session& session, const Trial& trial, const Kept& first, const Observed& again,
                    const std::function<Error(size_t, const std::string&)>& wrong) {
  for (size_t i = 0; i < first.size(); ++i) {
    STITCH_TRY(bool same, equal_to_the_bit(session, first, i, again.outputs[i]));
    if (same) continue;
    session.deterministic = false;
    STITCH_TRY(Comparison comparison, judge_output(session, trial, i, again.outputs[i]));
    if (!comparison.passed) return wrong(i, comparison.reason);
  }
  return {};
}

Result<void> inputs_unchanged(Session& session, Attempt& attempt, const Trial& trial) {
  for (size_t i = 0; i < trial.inputs.size(); ++i) {
    STITCH_TRY(bool unchanged, attempt.input_unchanged(trial, i));
    if (!unchanged)
      return found("inputs_changed",
                   format("it wrote to its input '{}'", session.task.signature.inputs[i].name));
  }
  return {};
}

Error unwritten(const Session& session, size_t output) {
  return found("unwritten",
               format("output '{}' holds what was there before where it should have been written",
                      output_name(session, output)));
}

// Whatever its outputs held before: other NaNs, or numbers that look like results. An old result is for when
// there is one of other inputs.
Result<runner::Called> all_written(Session& session, Attempt& attempt, const Trial& trial,
                                   const Kept& first) {
  runner::Called last;
  for (runner::Filling filling : {runner::Filling::finite, runner::Filling::nan}) {
    STITCH_TRY(Observed again, attempt.repeat({.poison = session.next_seed(), .filling = filling}));
    STITCH_CHECK(agrees(session, trial, first, again,
                        [&](size_t i, const std::string&) { return unwritten(session, i); }));
    last = again.called;
    if (session.large()) break;
    STITCH_CHECK(inputs_unchanged(session, attempt, trial));
  }
  return last;
}

Result<void> repeatable(Session& session, Attempt& attempt, const Trial& trial, const Kept& first) {
  for (int run = 0; run < 2; ++run) {
    STITCH_TRY(Observed again, attempt.repeat({.poison = session.next_seed()}));
    STITCH_CHECK(agrees(session, trial, first, again, [&](size_t i, const std::string& reason) {
      return found("not_repeatable", format("run {} of the same inputs gives another '{}': {}", run + 2,
                                            output_name(session, i), reason));
    }));
    STITCH_CHECK(inputs_unchanged(session, attempt, trial));
  }
  return {};
}

// Another question in between: results cached by address or by call number are stale now.
Result<void> not_stale(Session& session, Attempt& attempt, const Kept& first) {
  if (session.trials.size() < 2) return {};  // a quick look has no other question
  auto stale = [&](size_t i, const std::string& reason) {
    return found("stale", format("asked again after other inputs, '{}' is wrong: {}", output_name(session, i),
                                 reason));
  };
  // On top of the results of the question before.
  const runner::CallOptions on_old{.poison = session.next_seed(), .filling = runner::Filling::old_result};
  auto ask_other = [&](bool in_place = false) -> Result<void> {
    const Trial& trial = session.trials[1];
    STITCH_TRY(Observed observed,
               in_place ? attempt.ask_in_place(trial, on_old) : attempt.ask(trial, on_old));
    for (size_t i = 0; i < observed.outputs.size(); ++i) {
      STITCH_TRY(Comparison comparison, judge_output(session, trial, i, observed.outputs[i]));
      if (!comparison.passed) return stale(i, comparison.reason);
    }
    return {};
  };
  // Where the inputs of the first question are; else at another address.
  STITCH_CHECK(ask_other(!session.trials[0].held == !session.trials[1].held));
  STITCH_TRY(Observed again, attempt.ask(session.trials[0], on_old));
  STITCH_CHECK(agrees(session, session.trials[0], first, again, stale));
  STITCH_CHECK(inputs_unchanged(session, attempt, session.trials[0]));
  if (!session.large()) STITCH_CHECK(ask_other());
  return {};
}

Result<bool> renews_in_place(Session& session, Attempt& attempt) {
  bool has_states = false;
  for (const ManifestTensor& output : session.task.signature.outputs) has_states |= output.role == "update";
  if (!has_states || session.python) return false;
  const Trial& trial = session.trials[0];
  STITCH_TRY(Observed observed, attempt.ask(trial, {.poison = session.next_seed(), .states_in_place = true}));
  for (size_t i = 0; i < observed.outputs.size(); ++i) {
    STITCH_TRY(Comparison comparison, judge_output(session, trial, i, observed.outputs[i]));
    if (!comparison.passed)
      return found("states", format("with states renewed in place, '{}' is wrong: {}",
                                    output_name(session, i), comparison.reason));
  }
  return true;
}

// Memory that grows with every call on the same tensors: those of timed calls keep their places, so that
// a program that caches something per address has done so after the first calls. A GPU's memory is others'
// too, and comes in large pieces: the emulated one's is counted to the byte.
Result<void> keeps_its_memory(Session& session, Attempt& attempt) {
  // malloc's caches take up to seven pieces of a size before they hand one back, a piece a call at times.
  constexpr int to_settle = 2, calls = to_settle + 2 * 7;
  if (session.python || session.options.device != runner::Device::emulated || session.large()) return {};
  struct {
    std::string_view whose;
    int64_t before = 0, least_growth = std::numeric_limits<int64_t>::max();
  } memories[] = {{"device"}, {"host"}};
  for (int call = 0; call < calls; ++call) {
    STITCH_TRY(runner::Called called, attempt.run_again({.poison = session.next_seed(), .timed = true}));
    bool grows = false;
    for (auto& memory : memories) {
      const int64_t bytes = memory.whose == "host" ? called.host_bytes : called.device_bytes;
      const int64_t growth = bytes - std::exchange(memory.before, bytes);
      if (call > to_settle) memory.least_growth = std::min(memory.least_growth, growth);
      grows |= memory.least_growth > 0;
    }
    if (!grows) return {};
  }
  for (const auto& memory : memories)
    if (memory.least_growth > 0)
      return found("leaks", format("each call on the same tensors leaves {} bytes of the {}'s memory behind",
                                   memory.least_growth, memory.whose));
  return {};
}

// Relative, of floats.
double change_of(const TensorBytes& now, const TensorBytes& before) {
  if (!is_floating(before.type.dtype)) return 0;
  const std::vector<double> values = as_doubles(before);
  return distance(now, {{DType::f64, before.type.shape, {}}, std::as_bytes(std::span(values))},
                  NotFinite::any)
      .relative();
}

// The first question again after hundreds of calls. Atomics scatter around an answer, on a busy machine more
// than on a calm one; what a program carries from call to call moves it away, and on.
Result<void> does_not_drift(Session& session, Attempt& attempt, const Kept& first) {
  // A ModelNew takes longer a call: enough for what it counts or adds up.
  const int most_calls = session.python ? 120 : 300;
  const std::chrono::milliseconds most_time{session.python ? 300 : 600};
  constexpr double least_drift = 3e-6, least_ratio = 10;  // relative; to the scatter of two calls
  constexpr double moves_on = 1.5;
  if (session.options.quick || session.large() || session.trials[0].held) return {};
  STITCH_CHECK(attempt.ask(session.trials[0], {.poison = session.next_seed()}));
  int calls = 0;
  for (FairTime time(most_time); calls < most_calls && time.another(); ++calls)
    STITCH_CHECK(attempt.run_again({.poison = session.next_seed()}));
  STITCH_TRY(Observed late, attempt.repeat({.poison = session.next_seed()}));
  STITCH_TRY(const Kept before, keep(session, late.outputs));
  STITCH_TRY(Observed later, attempt.repeat({.poison = session.next_seed()}));
  std::vector<double> drifts(first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    STITCH_TRY(Comparison comparison, judge_output(session, session.trials[0], i, later.outputs[i]));
    if (!comparison.passed)
      return found("drifts", format("after {} calls with the same inputs '{}' is wrong: {}", calls,
                                    output_name(session, i), comparison.reason));
    if (!first.fingerprints[i].empty()) continue;
    const double drift = change_of(before.outputs[i], first.outputs[i]);
    const double scatter = change_of(later.outputs[i], before.outputs[i]);
    if (drift > least_drift && drift > least_ratio * scatter) drifts[i] = drift;
  }
  if (std::ranges::all_of(drifts, [](double drift) { return drift == 0; })) return {};
  for (int call = 0; call < calls; ++call) STITCH_CHECK(attempt.run_again({.poison = session.next_seed()}));
  STITCH_TRY(Observed on, attempt.repeat({.poison = session.next_seed()}));
  for (size_t i = 0; i < first.size(); ++i)
    if (drifts[i] > 0 && change_of(on.outputs[i], first.outputs[i]) > moves_on * drifts[i])
      return found("drifts",
                   format("after {} calls with the same inputs '{}' is {:.1g} away from what it was", calls,
                          output_name(session, i), drifts[i]));
  return {};
}

// Another program with other weights, made, alive and gone, changes nothing here and leaves nothing behind.
Result<void> is_independent(Session& session, Attempt& attempt, const Kept& outputs) {
  if (session.python || session.options.quick || session.large()) return {};
  auto same = [&](std::string_view when) -> Result<void> {
    STITCH_TRY(Observed again, attempt.ask(session.trials[0], {.poison = session.next_seed()}));
    return agrees(session, session.trials[0], outputs, again, [&](size_t i, const std::string& reason) {
      return found("shared_state", format("{} another program of the library, '{}' is wrong: {}", when,
                                          output_name(session, i), reason));
    });
  };
  const Weights others = session.task.signature.parameters.empty() ? Weights::task : Weights::reparameterised;
  STITCH_CHECK(attempt.create_other(others));
  STITCH_CHECK(same("beside"));
  STITCH_CHECK(attempt.destroy_other());
  STITCH_CHECK(same("after"));
  if (session.options.device != runner::Device::emulated) return {};
  int64_t before = 0, growth = 0;
  for (int time = 0; time < 3; ++time) {
    STITCH_CHECK(attempt.create_other(others));
    STITCH_TRY(const int64_t left, attempt.destroy_other());
    growth = left - std::exchange(before, left);
    if (time > 0 && growth <= 0) return {};
  }
  return found(
      "leaks",
      format("each stitch_create and stitch_destroy leaves {} bytes of the device's memory behind", growth));
}

// A network has a state for each of its layers' statistics: a few that it can't know stand for all.
std::vector<size_t> some_inputs(Session& session) {
  constexpr size_t most = 8;
  std::vector<size_t> out;
  for (size_t i = 0; i < session.task.signature.inputs.size(); ++i) out.push_back(i);
  std::shuffle(out.begin(), out.end(), std::mt19937_64(session.next_seed()));
  std::ranges::stable_partition(out,
                                [&](size_t i) { return session.task.signature.inputs[i].role == "input"; });
  out.resize(std::min(out.size(), most));
  return out;
}

// By one, to either side.
std::vector<TensorType> neighbours_of(const TensorType& type) {
  if (type.shape.empty()) return {{type.dtype, {2}, {}}};
  std::vector<TensorType> out;
  for (size_t dim = 0; dim < type.shape.size(); ++dim)
    for (int64_t by : {1, -1}) {
      out.push_back({type.dtype, type.shape, {}});
      out.back().shape[dim] += by;
      if (out.back().shape[dim] <= 0) out.pop_back();
    }
  return out;
}

// Of the same elements in another order; empty if there is none.
std::vector<int64_t> transposed_strides(const Shape& shape) {
  if (std::ranges::count_if(shape, [](int64_t size) { return size > 1; }) < 2) return {};
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim) strides[dim] = std::exchange(stride, stride * shape[dim]);
  return strides;
}

// A program for ranges of sizes takes some neighbours: those that fit the rest of the call.
bool takes(const Session& session, size_t input, const TensorType& type) {
  if (session.manifest.dimensions.empty()) return false;
  Signature call = session.task.signature;
  call.inputs[input].type = type;
  Manifest there = session.manifest;
  const auto sizes = sizes_shown(there, call);
  if (!sizes || !there.set_sizes(*sizes)) return false;
  auto same = [](const ManifestTensor& a, const ManifestTensor& b) { return a.type.shape == b.type.shape; };
  return std::ranges::equal(there.signature.inputs, call.inputs, same) &&
         std::ranges::equal(there.signature.outputs, call.outputs, same);
}

// Neighbouring shapes, other strides, another dtype, null pointers, of inputs as of outputs, too few and too
// many of them: an error and a message, not a crash or a result.
Result<int> refuses_others(Session& session, Attempt& attempt) {
  constexpr size_t most_outputs = 8;
  using List = std::vector<runner::TensorAt>;
  List in, out;
  for (const ManifestTensor& input : session.task.signature.inputs)
    in.push_back({{input.type.dtype, input.type.shape, {}}, 0});
  for (const TensorType& type : attempt.output_types()) out.push_back({type, 0});
  int tried = 0;
  auto refused = [&](const List& inputs, const List& outputs, const std::string& what) -> Result<void> {
    ++tried;
    STITCH_TRY(int status, attempt.call_with(inputs, outputs, what));
    if (status == 0) return found("accepts_anything", format("it was given {} and did not refuse", what));
    return {};
  };
  // `call`: with this one of its list changed.
  auto each_wrong = [&](const runner::TensorAt& good, const std::string& name, const auto& call,
                        const runner::TensorAt* is_input = nullptr) -> Result<void> {
    for (const TensorType& type : neighbours_of(good.type))
      if (!is_input || !takes(session, static_cast<size_t>(is_input - in.data()), type))
        STITCH_CHECK(call(runner::TensorAt{type, good.offset}, format("{} as '{}'", text(type), name)));
    if (const std::vector<int64_t> strides = transposed_strides(good.type.shape); !strides.empty()) {
      runner::TensorAt changed = good;
      changed.type.strides = strides;
      STITCH_CHECK(call(changed, format("'{}' with other strides", name)));
    }
    if (good.type.elements() == 0) return {};
    runner::TensorAt changed = good;
    changed.offset = -1;
    return call(changed, format("no memory for '{}'", name));
  };
  auto other_dtype = [&](List list, const std::string& name, const auto& call) -> Result<void> {
    list[0].type.dtype = list[0].type.dtype == DType::f32 ? DType::f16 : DType::f32;
    return call(list, format("{} as '{}'", text(list[0].type), name));
  };
  auto with_inputs = [&](const List& list, const std::string& what) { return refused(list, out, what); };
  auto with_outputs = [&](const List& list, const std::string& what) { return refused(in, list, what); };
  auto with_one = [](const List& good, size_t i, const auto& call) {
    return [&good, i, call](const runner::TensorAt& one, const std::string& what) {
      List changed = good;
      changed[i] = one;
      return call(changed, what);
    };
  };
  for (size_t i : some_inputs(session))
    STITCH_CHECK(
        each_wrong(in[i], session.task.signature.inputs[i].name, with_one(in, i, with_inputs), &in[i]));
  for (size_t i = 0; i < std::min(out.size(), most_outputs); ++i)
    STITCH_CHECK(each_wrong(out[i], output_name(session, i), with_one(out, i, with_outputs)));
  STITCH_CHECK(other_dtype(out, output_name(session, 0), with_outputs));
  List fewer = in, more = in, more_outputs = out;
  if (!in.empty()) {
    STITCH_CHECK(other_dtype(in, session.task.signature.inputs[0].name, with_inputs));
    fewer.pop_back();
    more.push_back(more.back());
    STITCH_CHECK(with_inputs(fewer, "an input too few"));
    STITCH_CHECK(with_inputs(more, "an input too many"));
  }
  more_outputs.push_back(more_outputs.back());
  STITCH_CHECK(with_outputs(more_outputs, "an output too many"));
  return tried;
}

// The same of weights. Their number is the least that stitch_create looks at; nothing may crash it. That it
// takes other tensors than the task's is noted: what it makes of them is no one's result.
Result<int> refuses_other_weights(Session& session) {
  constexpr size_t most_parameters = 4;
  constexpr int64_t most_bytes = int64_t{1} << 26;
  const std::vector<ManifestTensor>& parameters = session.task.signature.parameters;
  std::vector<runner::TensorAt> good;
  int64_t bytes = 0;
  for (const ManifestTensor& parameter : parameters) {
    good.push_back({{parameter.type.dtype, parameter.type.shape, {}}, 0});
    bytes += parameter.type.bytes();
  }
  if (session.options.quick || bytes > most_bytes) return 0;
  STITCH_TRY(const std::shared_ptr<Attempt> attempt, Attempt::of(session, Weights::task));
  int tried = 0;
  bool looked = true;  // it refused before it called CUDA, whose error would be the next call's
  auto more = good;
  more.push_back(good.empty() ? runner::TensorAt{{DType::f32, {1}, {}}, 0} : good.back());
  auto refused = [&](const std::vector<runner::TensorAt>& list, const std::string& what) -> Result<bool> {
    ++tried;
    STITCH_TRY(const int status, attempt->create_with(list, what));
    looked &= status == STITCH_BAD_ARGUMENT;
    return status != STITCH_OK;
  };
  STITCH_TRY(bool counts, refused(more, "a parameter too many"));
  if (counts && !good.empty()) {
    more.resize(good.size() - 1);
    STITCH_TRY(counts, refused(more, "a parameter too few"));
  }
  if (!counts)
    return found("accepts_anything",
                 "stitch_create was given another number of parameters and did not refuse");
  std::string taken;
  for (size_t i = 0; i < std::min(good.size(), most_parameters) && taken.empty(); ++i) {
    const std::string& name = parameters[i].name;
    auto tries = [&](runner::TensorAt changed, const std::string& what) -> Result<void> {
      if (!taken.empty()) return {};
      auto list = good;
      list[i] = std::move(changed);
      STITCH_TRY(const bool refuses, refused(list, what));
      if (!refuses) taken = what;
      return {};
    };
    const TensorType& type = good[i].type;
    if (type.elements() > 0) STITCH_CHECK(tries({type, -1}, format("no memory for '{}'", name)));
    STITCH_CHECK(
        tries({neighbours_of(type)[0], 0}, format("{} as '{}'", text(neighbours_of(type)[0]), name)));
    const TensorType other{type.dtype == DType::f32 ? DType::f16 : DType::f32, type.shape, {}};
    STITCH_CHECK(tries({other, 0}, format("{} as '{}'", text(other), name)));
  }
  if (!looked) session.attempt.reset();
  if (!taken.empty()) session.notes.push_back(format("stitch_create was given {} and did not refuse", taken));
  return tried;
}

}  // namespace

Result<Passed> conduct(Session& session, Json& evidence) {
  if (session.trials.empty()) return skipped("no trial to repeat");
  STITCH_TRY(std::shared_ptr<Attempt> started, Attempt::of(session, Weights::task));
  Attempt& attempt = *started;
  const Trial& trial = session.trials[0];
  STITCH_TRY(Observed asked, attempt.ask(trial, {.poison = session.next_seed()}));
  const runner::Called first = asked.called;
  STITCH_TRY(const Kept outputs, keep(session, asked.outputs));
  STITCH_CHECK(inputs_unchanged(session, attempt, trial));
  STITCH_TRY(runner::Called second, all_written(session, attempt, trial, outputs));
  // Of gigabytes, the second run and the one after other inputs are enough.
  if (!session.large()) STITCH_CHECK(repeatable(session, attempt, trial, outputs));
  STITCH_CHECK(not_stale(session, attempt, outputs));
  evidence["deterministic"] = session.deterministic;
  STITCH_TRY(bool states, renews_in_place(session, attempt));
  if (states) evidence["states_in_place"] = true;
  STITCH_CHECK(right_wherever_tensors_lie(session, attempt, evidence));
  STITCH_TRY(runner::Called last, attempt.run_again({.poison = session.next_seed()}));
  evidence["threads"] = {last.threads_before, last.threads_after};
  if (last.threads_after > first.threads_before && last.threads_after > second.threads_after)
    return found("threads_left", format("{} threads before, {} after: it leaves threads running",
                                        first.threads_before, last.threads_after));
  STITCH_CHECK(keeps_its_memory(session, attempt));
  STITCH_CHECK(does_not_drift(session, attempt, outputs));
  STITCH_CHECK(is_independent(session, attempt, outputs));
  int refusals = 0;
  if (!session.python) {
    STITCH_TRY(refusals, refuses_others(session, attempt));
    STITCH_CHECK(right_in_a_callers_stream(session, attempt, evidence));
    STITCH_TRY(const int of_weights, refuses_other_weights(session));
    refusals += of_weights;
    evidence["wrong_arguments_refused"] = refusals;
  }
  std::string summary = session.deterministic ? "three runs equal to the bit" : "three runs agree";
  if (refusals) summary += format(", {} wrong calls refused", refusals);
  return Passed{summary};
}

}  // namespace stitch::verifier
