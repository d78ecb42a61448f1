#include "rubric/execution.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "verify/gates/gates.h"
#include "verify/many/label.h"

namespace stitch::rubric {

namespace {

constexpr std::array<std::string_view, 9> outcome_names = {
    "not run", "not judged", "inconclusive", "not built", "wrong", "crashed", "misbehaved", "hack", "passed"};

const Json& child(const Json& json, const char* key) {
  static const Json none;
  if (!json.is_object()) return none;
  auto found = json.find(key);
  return found == json.end() ? none : *found;
}

std::optional<double> number(const Json& json, const char* key) {
  const Json& value = child(json, key);
  if (!value.is_number()) return std::nullopt;
  const double out = value.get<double>();
  return std::isfinite(out) ? std::optional(out) : std::nullopt;
}

std::optional<double> positive(const Json& json, const char* key) {
  auto out = number(json, key);
  return out && *out > 0 ? out : std::nullopt;
}

Outcome failure_kind(std::string_view gate, const std::string& code) {
  verifier::GateReport failure{.gate = std::string(gate), .id = verifier::GateId::conduct, .code = code};
  for (const verifier::Gate& each : verifier::all_gates())
    if (each.name == gate) failure.id = each.id;
  failure.fault = verifier::fault_of(failure.id, code);
  switch (verifier::label_of(failure).kind) {
    case verifier::Kind::build_failed: return Outcome::not_built;
    case verifier::Kind::wrong: return Outcome::wrong;
    case verifier::Kind::crashed: return Outcome::crashed;
    case verifier::Kind::hack: return Outcome::hack;
    case verifier::Kind::inconclusive: return Outcome::inconclusive;
    case verifier::Kind::misbehaved: return Outcome::misbehaved;
  }
  return Outcome::misbehaved;
}

void read_outcome(const Json& verdict, Execution& out) {
  const std::string word = stitch::word(verdict, "verdict");
  out.gate = stitch::word(verdict, "gate");
  out.code = stitch::word(verdict, "code");
  out.reason = stitch::word(verdict, "reason");
  if (auto known = parse_outcome(word)) out.outcome = *known;
  if (word == "failed") out.outcome = failure_kind(out.gate, out.code);
  // A label says more than a gate's code, where there is one.
  const std::string label = stitch::word(verdict, "label");
  if (label == "full hack" || label == "hack") out.outcome = Outcome::hack;
}

std::optional<std::vector<std::string>> names_in(const Json& json, const char* key) {
  const Json& list = child(json, key);
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> out;
  for (const Json& one : list)
    if (one.is_string()) out.push_back(one.get<std::string>());
  return out;
}

// [name, start, nanoseconds], and their sums by name.
void read_profile(const Json& evidence, Execution& out) {
  auto read = [&](const char* key, std::vector<KernelRun>& to) {
    for (const Json& kernel : child(evidence, key))
      if (auto nanoseconds = number(kernel, "nanoseconds"))
        to.push_back({word(kernel, "name"), static_cast<int>(number(kernel, "count").value_or(1)),
                      *nanoseconds * 1e-9, number(kernel, "threads").value_or(0), names_in(kernel, "used")});
  };
  read("kernels", out.kernels);
  read("pytorch_kernels", out.pytorch);
  for (const Json& region : child(evidence, "region_times"))
    out.regions.push_back({word(region, "name"), number(region, "nanoseconds").value_or(0) * 1e-9,
                           static_cast<int>(number(region, "launches").value_or(0))});
  out.bottleneck = word(child(evidence, "diagnosis"), "bottleneck");
}

void read_timing(const Json& timing, Execution& out) {
  out.speedup = positive(timing, "speedup");
  out.floor_seconds = positive(timing, "floor_seconds");
  const Json& program = child(timing, "program");
  out.seconds = positive(program, "median_seconds");
  if (!out.seconds) out.seconds = positive(program, "seconds");
  if (!out.seconds) return;
  for (const Json& baseline : child(timing, "baselines")) {
    auto seconds = positive(baseline, "median_seconds");
    if (!seconds) seconds = positive(baseline, "seconds");
    if (!seconds) continue;
    const std::string side = word(baseline, "side");
    const double over = *seconds / *out.seconds;
    if (side == "eager") out.over_eager = over;
    if (side.starts_with("compile")) out.over_compiled = std::min(out.over_compiled.value_or(over), over);
  }
}

// Kinds of inputs are asked in order until one fails: those behind it are taken to be as far off as that one.
double right_share(const Json& evidence) {
  double sum = 0, last = 0;
  int asked = 0;
  for (const Json& trial : child(evidence, "trials")) {
    const Json& outputs = child(trial, "outputs");
    if (!outputs.is_array() || outputs.empty()) continue;  // beyond the model's domain
    last = 1;
    for (const Json& output : outputs)
      if (const Json& passed = child(output, "passed"); !passed.is_boolean() || !passed.get<bool>())
        last = std::min(last, std::clamp(number(output, "right_share").value_or(0), 0.0, 1.0));
    sum += last;
    ++asked;
  }
  const double kinds = std::max<double>(asked, number(evidence, "kinds").value_or(0));
  return kinds > 0 ? std::min(1.0, (sum + (kinds - asked) * last) / kinds) : 0;
}

}  // namespace

std::string_view name(Outcome outcome) { return outcome_names[static_cast<size_t>(outcome)]; }

std::optional<Outcome> parse_outcome(std::string_view name) {
  auto found = std::ranges::find(outcome_names, name);
  if (found == outcome_names.end()) return std::nullopt;
  return static_cast<Outcome>(found - outcome_names.begin());
}

bool is_launch_of(std::string_view run, std::string_view kernel) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = run.find(kernel); at != run.npos && !kernel.empty(); at = run.find(kernel, at + 1)) {
    const size_t end = at + kernel.size();
    if ((at == 0 || !in_word(run[at - 1])) && (end == run.size() || !in_word(run[end]))) return true;
  }
  return false;
}

bool came_by(const Execution& run, std::string_view kernel, std::initializer_list<std::string_view> one_of) {
  bool known = false;
  for (const KernelRun& each : run.kernels) {
    if (!each.used || !is_launch_of(each.name, kernel)) continue;
    known = true;
    for (const std::string& used : *each.used)
      if (std::ranges::find(one_of, used) != one_of.end()) return true;
  }
  return !known;
}

std::optional<double> share_of(const Execution& run, std::string_view kernel) {
  double own = 0, all = 0, own_threads = 0, threads = 0;
  for (const KernelRun& each : run.kernels) {
    all += each.seconds;
    threads += each.threads;
    if (!is_launch_of(each.name, kernel)) continue;
    own += each.seconds;
    own_threads += each.threads;
  }
  if (all > 0) return own / all;
  if (threads > 0) return own_threads / threads;
  return std::nullopt;
}

Result<Execution> execution_of(const Json& verdict) {
  if (!verdict.is_object() || !child(verdict, "verdict").is_string())
    return user_error("verdict", "not a verdict",
                      "use the output of stitchcuda verify --json, or the file of verify -o");
  Execution out;
  read_outcome(verdict, out);
  out.native = word(verdict, "trust") == "compiled";
  for (const Json& note : child(verdict, "notes"))
    if (note.is_string()) out.notes.push_back(note.get<std::string>());
  for (const Json& gate : child(verdict, "gates")) {
    const Json& evidence = child(gate, "evidence");
    if (word(gate, "gate") == "profile") read_profile(evidence, out);
    if (word(gate, "gate") == "correctness" && out.outcome == Outcome::wrong)
      out.right_share = right_share(evidence);
    if (word(gate, "gate") != "build") continue;
    out.other_on_gpu = !child(evidence, "conditions").empty();
    for (const Json& kernel : child(evidence, "kernels"))
      out.resources.push_back({word(kernel, "kernel"),
                               static_cast<int>(number(kernel, "registers").value_or(0)),
                               static_cast<int>(number(kernel, "spill_bytes").value_or(0)),
                               static_cast<int64_t>(number(kernel, "shared_bytes").value_or(0))});
  }
  read_timing(child(verdict, "timing"), out);
  return out;
}

}  // namespace stitch::rubric
