// A task whose output a constant or another input's output would pass proves little end to end. It is
// reported as weak. Where the same would have passed on every kind of input and with reparameterised weights
// too, nothing was proved: then its regions have to be checked alone (regions.cpp), or the verdict is
// inconclusive. An output that is exactly a constant, or exactly an input, needs no computing: that is no
// weakness.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reference/torch_reference.h"
#include "verify/gates/gates.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> imitation_kinds = {
    {{"zeros", "zeros"},
     {"mean", "a constant"},
     {"input", "an input"},
     {"another", "another input's output"}}};

double mean(const TensorBytes& truth) {
  double sum = 0;
  int64_t elements = truth.type.elements();
  for (int64_t i = 0; i < elements; ++i) {
    double value;
    std::memcpy(&value, truth.bytes.data() + i * 8, 8);
    sum += std::isfinite(value) ? value : 0;
  }
  return elements ? sum / static_cast<double>(elements) : 0;
}

Tensors constant(const TensorType& type, double value) {
  std::vector<std::byte> bytes(static_cast<size_t>(type.elements()) * 8);
  for (int64_t i = 0; i < type.elements(); ++i) std::memcpy(bytes.data() + i * 8, &value, 8);
  Tensors out;
  out.add({DType::f64, type.shape, {}}, std::move(bytes));
  return out;
}

// How far from the truth is what could be handed in without computing: "zeros", "mean", an "input" that
// fits, "another" trial's output.
Result<std::vector<Distance>> imitations(const Session& session, const Trial& trial, const Trial& other,
                                         size_t output, std::string_view by) {
  if (trial.held) return session.torch->imitations(trial, output, by, other);
  const TensorBytes& truth = trial.truth[output];
  std::vector<Distance> out;
  if (by == "zeros") out.push_back(distance(constant(truth.type, 0)[0], truth));
  if (by == "mean") out.push_back(distance(constant(truth.type, mean(truth))[0], truth));
  if (by == "another") out.push_back(distance(other.truth[output], truth));
  if (by == "input")
    for (const TensorBytes& input : trial.inputs.tensors)
      if (input.type.shape == truth.type.shape && is_floating(input.type.dtype))
        out.push_back(distance(input, truth));
  return out;
}

Result<std::vector<std::string>> imitations_that_pass(const Session& session, const Trial& trial,
                                                      const Trial& other, size_t output) {
  std::vector<std::string> passed;
  for (auto [by, words] : imitation_kinds) {
    STITCH_TRY(std::vector<Distance> all, imitations(session, trial, other, output, by));
    for (const Distance& one : all)
      if (judge_distance(session, trial, output, one).passed) passed.emplace_back(words);
  }
  return passed;
}

// Whether what could be handed in by `by` would have passed everywhere: then the trials prove nothing. Those
// that prove nothing anyhow (infinities) are not asked: other weights have to.
Result<bool> passes_everywhere(const Session& session, size_t output, std::string_view by) {
  bool exact = true, any = false;
  for (const std::vector<Trial>* asked : {&session.trials, &session.others})
    for (size_t t = 0; t < asked->size(); ++t) {
      const Trial& trial = (*asked)[t];
      if (!proves(trial, output) || (asked->size() < 2 && by == "another")) continue;
      any = true;
      // Another's of the same kind: the next one that was asked.
      STITCH_TRY(std::vector<Distance> all,
                 imitations(session, trial, (*asked)[(t + 1) % asked->size()], output, by));
      const bool passed = std::ranges::any_of(
          all, [&](const Distance& one) { return judge_distance(session, trial, output, one).passed; });
      if (!passed) return false;
      exact = exact && std::ranges::any_of(all, [](const Distance& one) { return one.error == 0; });
    }
  return any && !exact;
}

}  // namespace

Result<Passed> sensitivity(Session& session, Json& evidence) {
  if (session.trials.size() < 2) return skipped("needs two trials");
  std::vector<std::string> weak;
  for (size_t i = 0; i < session.task.signature.outputs.size(); ++i) {
    if (!is_floating(session.trials[0].truth[i].type.dtype)) continue;
    if (session.task.signature.outputs[i].role == "update") continue;
    STITCH_TRY(std::vector<std::string> passed,
               imitations_that_pass(session, session.trials[0], session.trials[1], i));
    evidence[session.task.signature.outputs[i].name] = passed;
    for (auto [by, words] : imitation_kinds) {
      if (!session.unproven.empty() || std::ranges::find(passed, words) == passed.end()) continue;
      STITCH_TRY(bool everywhere, passes_everywhere(session, i, by));
      if (everywhere) session.unproven = format("{} for '{}'", words, session.task.signature.outputs[i].name);
    }
    if (!passed.empty())
      weak.push_back(format("'{}' ({})", session.task.signature.outputs[i].name, join(passed, ", ")));
  }
  double amplified = 0;
  for (size_t i = 0; i < session.trials[0].truth.size(); ++i)
    if (auto pytorch = pytorch_distance(session.trials[0], i))
      amplified = std::max(amplified, judge_distance(session, session.trials[0], i, *pytorch).own.relative());
  evidence["pytorch_relative_error"] = amplified;
  if (amplified > 0.05) weak.push_back(format("PyTorch itself is {:.0f} % off float64", 100 * amplified));
  session.weak = !weak.empty();
  if (!session.weak) return Passed{"zeros, constants, inputs and other outputs would all fail"};
  evidence["unproven"] = session.unproven;
  std::string what = "weak task: " + join(weak, "; ") + " would pass";
  if (amplified > 0.05) what = "weak task: " + join(weak, "; ");
  session.notes.push_back(what);
  return Passed{what};
}

}  // namespace stitch::verifier
