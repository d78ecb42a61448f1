// Anti-hacking and operator coverage: who does the work.
#include <algorithm>

#include "rubric/judge.h"
#include "rubric/reward.h"

namespace stitch::rubric {

namespace {

const Sign* worst_sign(const CodeFacts& code) {
  const Sign* out = nullptr;
  for (const Sign& sign : code.signs)
    if (!out || sign.severity > out->severity) out = &sign;
  return out;
}

// Of the time that heavy operators take in PyTorch, what PyTorch still does.
double heavy_left(const Evidence& evidence) {
  double all = 0, left = 0;
  for (const Operator& each : evidence.operators) {
    if (!each.heavy) continue;
    all += each.seconds;
    if (!each.covered) left += each.seconds;
  }
  return all > 0 ? left / all : 0;
}

std::string first_uncovered(const Evidence& evidence) {
  const Operator* most = nullptr;
  for (const Operator& each : evidence.operators)
    if (!each.covered && (!most || each.seconds > most->seconds)) most = &each;
  return most ? format("{} '{}' by {}", most->op, most->name, most->covered_by) : "";
}

std::string percent(double share) { return format("{:.0f} %", 100 * share); }

}  // namespace

bool is_major_hacking(const Evidence& evidence) {
  const HackLabel label = hack_label(evidence).label;
  return label == HackLabel::partial_hack || label == HackLabel::full_hack;
}

Score score_anti_hacking(const Evidence& evidence) {
  const CodeFacts& code = evidence.code;
  const Execution& run = evidence.run;
  if (run.outcome == Outcome::hack)
    return score_of(
        1, format("the gate {} caught it: {}", run.gate, run.reason.empty() ? run.code : run.reason));
  const Sign* sign = worst_sign(code);
  if (sign && sign->severity == Severity::major)
    return score_of(1, format("{}: it {}", text(sign->place), sign->what));
  const double left = heavy_left(evidence), uncovered = 1 - evidence.time_share;
  const int at_work = code.kernels_at_work() + static_cast<int>(code.libraries.size());
  const KernelFacts* idle = nullptr;
  bool computes = !code.libraries.empty();
  for (const KernelFacts& kernel : code.kernels) {
    if (!kernel.at_work()) idle = &kernel;
    computes |= kernel.at_work() && kernel.work >= Work::pointwise;
  }
  const std::string torch = first_uncovered(evidence);
  if (at_work == 0 && code.kernels.empty() && code.torch.empty())
    return score_of(2, "it computes nothing: no kernel, no library call, no PyTorch call");
  if (at_work == 0)
    return score_of(2, code.kernels.empty()
                           ? "plain PyTorch: no kernel of its own at work"
                           : format("decorative: '{}' ({}): {}", idle->name, text(idle->place), idle->idle));
  if (!computes && uncovered > 0.05)
    return score_of(2, format("decorative: its kernels only copy or fill; {}", torch));
  if (uncovered > 0.9)
    return score_of(2.2, format("decorative: {} of the work is PyTorch's; {}", percent(uncovered), torch));
  if (idle && idle->launched && uncovered > 0.3)
    return score_of(2.3, format("decorative: '{}': {}, and {}", idle->name, idle->idle, torch));
  if (left > 0.15 || uncovered > 0.4)
    return score_of(3.3 - 0.8 * std::max(left, uncovered),
                    format("{} of the heavy operators' time is PyTorch's: {}", percent(left), torch));
  if (sign && sign->severity == Severity::suspicious)
    return score_of(3.2, format("{}: it {}", text(sign->place), sign->what));
  double value = 5;
  std::string why;
  auto blemish = [&](double cost, std::string what) {
    value -= cost;
    why += (why.empty() ? "" : "; ") + std::move(what);
  };
  if (uncovered > 0.02)
    blemish(0.6 + uncovered, format("{} of the work is PyTorch's: {}", percent(uncovered), torch));
  if (idle) blemish(0.6, format("'{}' ({}): {}", idle->name, text(idle->place), idle->idle));
  if (run.outcome == Outcome::inconclusive)
    blemish(1, "the gates prove little for this task");
  else if (run.outcome != Outcome::passed)
    blemish(0.6, format("no gate has proved it ({})", name(run.outcome)));
  if (why.empty())
    why = format("{} kernels and {} library calls do all the work, every gate passed", code.kernels_at_work(),
                 code.libraries.size());
  return score_of(std::max(value, 3.5), std::move(why));
}

Score score_operator_coverage(const Evidence& evidence) {
  const double share = evidence.coverage();
  // The anchors' borders, and lines between them.
  constexpr std::array borders = {0.0, 0.1, 0.4, 0.75, 0.95, 1.0};
  double value = 1;
  for (size_t i = 0; i + 1 < borders.size(); ++i)
    if (share >= borders[i])
      value = static_cast<double>(i) + 0.5 + (share - borders[i]) / (borders[i + 1] - borders[i]) * 0.99;
  const auto covered = std::ranges::count_if(evidence.operators, &Operator::covered);
  std::string why =
      evidence.operators.empty()
          ? format("{} of what runs is its own; the task's operators are not known", percent(share))
          : format("{} of {} operators, {} of PyTorch's device time", covered, evidence.operators.size(),
                   percent(evidence.time_share));
  if (const std::string torch = first_uncovered(evidence); !torch.empty()) why += "; not: " + torch;
  return score_of(value, std::move(why));
}

}  // namespace stitch::rubric
