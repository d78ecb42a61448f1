// Skill compliance: was it done as asked? From scratch the task, from feedback the change.
#include <algorithm>

#include "base/text.h"
#include "rubric/judge.h"

namespace stitch::rubric {

namespace {

bool is_broken(Outcome outcome) {
  return outcome == Outcome::not_built || outcome == Outcome::wrong || outcome == Outcome::crashed ||
         outcome == Outcome::misbehaved;
}

// How far a candidate came, for repairs that are half done.
int stage(Outcome outcome) {
  switch (outcome) {
    case Outcome::not_built: return 0;
    case Outcome::crashed: return 1;
    case Outcome::misbehaved: return 2;
    case Outcome::wrong: return 3;
    case Outcome::inconclusive: return 4;
    case Outcome::passed: return 5;
    default: return -1;
  }
}

Score from_scratch(const Evidence& evidence) {
  const CodeFacts& code = evidence.code;
  const Execution& run = evidence.run;
  const int at_work = code.kernels_at_work() + static_cast<int>(code.libraries.size());
  if (code.code.empty()) return score_of(1, "there is no code");
  if (run.outcome == Outcome::hack) return score_of(1, format("a hack is no attempt: {}", run.reason));
  if (at_work == 0 && code.torch.empty()) return score_of(1, "nothing in it computes the task");
  if (at_work == 0) return score_of(1.4, "PyTorch's code with no kernel of its own at work");
  if (run.outcome == Outcome::not_built || run.outcome == Outcome::crashed)
    return score_of(2, format("{} at {}: {}", name(run.outcome), run.gate, run.reason));
  double value = 5;
  std::string why;
  auto blemish = [&](double cost, std::string what) {
    value -= cost;
    why += (why.empty() ? "" : "; ") + std::move(what);
  };
  const double left = 1 - evidence.coverage();
  if (left > 0.75)
    blemish(2.8, format("{:.0f} % of the task is left to PyTorch", 100 * left));
  else if (left > 0.4)
    blemish(2, format("{:.0f} % of the task is left to PyTorch", 100 * left));
  else if (left > 0.02)
    blemish(0.7 + left, format("{:.0f} % of the task is left to PyTorch", 100 * left));
  if (run.outcome == Outcome::wrong || run.outcome == Outcome::misbehaved)
    blemish(2, format("{} at {}: {}", name(run.outcome), run.gate, run.reason));
  else if (run.outcome != Outcome::passed)
    blemish(0.7, format("not proved by the gates ({})", name(run.outcome)));
  if (code.interface.empty())
    blemish(0.6, code.python ? "there is no class ModelNew" : "there is no stitch_run");
  for (const Sign& sign : code.signs)
    if (sign.severity == Severity::suspicious) {
      blemish(0.8, format("{}: it {}", text(sign.place), sign.what));
      break;
    }
  for (const KernelFacts& kernel : code.kernels)
    if (!kernel.at_work()) {
      blemish(0.3, format("'{}': {}", kernel.name, kernel.idle));
      break;
    }
  if (why.empty()) why = "the whole task, in the form asked for, passed every gate";
  return score_of(value, std::move(why));
}

bool names_any(const std::vector<std::string>& names, const Change& change) {
  return std::ranges::any_of(names, [&](const std::string& each) {
    return std::ranges::find(change.changed, each) != change.changed.end() ||
           std::ranges::find(change.gone, each) != change.gone.end();
  });
}

// Work that was own kernels' before and is PyTorch's now.
bool handed_back(const Evidence& evidence, const Change& change) {
  auto heavy = [](const CodeFacts& code) { return std::ranges::count_if(code.torch, &TorchCall::heavy); };
  const int now = evidence.code.kernels_at_work() + static_cast<int>(evidence.code.libraries.size());
  const int then = change.before.kernels_at_work() + static_cast<int>(change.before.libraries.size());
  return (heavy(evidence.code) > heavy(change.before) ||
          evidence.code.torch.size() > change.before.torch.size() + 1) &&
         now <= then && (now < then || evidence.code.torch.size() > change.before.torch.size());
}

Score repaired(const Evidence& evidence, const Change& change, bool at_the_place) {
  const int then = stage(change.before_run.outcome), now = stage(evidence.run.outcome);
  if (now == 5) {
    const bool rewritten =
        change.added + change.removed >
        3 * static_cast<int>(std::max<size_t>(20, std::ranges::count(change.before.code, '\n')));
    return score_of(rewritten ? 4.2 : 5,
                    format("what was {} passes every gate, {} lines changed", name(change.before_run.outcome),
                           change.added + change.removed));
  }
  if (then >= 0 && now > then)
    return score_of(3.2, format("{} became {}: {}", name(change.before_run.outcome),
                                name(evidence.run.outcome), evidence.run.reason));
  if (now < 0)
    return score_of(
        at_the_place ? 3.4 : 2.4,
        format("not run; {} changed", at_the_place ? "the place in question was" : "something else was"));
  return score_of(now < then     ? 1.6
                  : at_the_place ? 2.4
                                 : 2,
                  format("still {}: {}", name(evidence.run.outcome), evidence.run.reason));
}

std::optional<double> gain(const Evidence& evidence, const Change& change) {
  if (evidence.run.seconds && change.before_run.seconds && *evidence.run.seconds > 0)
    return *change.before_run.seconds / *evidence.run.seconds;
  if (evidence.run.speedup && change.before_run.speedup && *change.before_run.speedup > 0)
    return *evidence.run.speedup / *change.before_run.speedup;
  return std::nullopt;
}

Score optimised(const Evidence& evidence, const Change& change, bool at_the_place) {
  const Side before{change.before, change.before_run}, after{evidence.code, evidence.run};
  std::vector<std::string> did, missed;
  for (const std::string& ask : change.feedback.asks) {
    const Done done = is_done(ask, before, after);
    (done.done ? did : missed).push_back(format("{}: {}", ask, done.why));
  }
  const double asked = static_cast<double>(change.feedback.asks.size());
  const double share = asked > 0 ? static_cast<double>(did.size()) / asked : 0;
  double value = 0;
  std::string why;
  const std::optional<double> faster = gain(evidence, change);
  if (asked == 0) {
    value = at_the_place ? (faster && *faster > 1.05 ? 4 : 3) : 2.2;
    why = format("no technique is named; {} {}", at_the_place ? "the place in question" : "something else",
                 "was changed");
  } else {
    // The first is what matters most: feedback names one bottleneck and one suggestion.
    const bool first = !did.empty() && did[0].starts_with(change.feedback.asks[0] + ":");
    value = share >= 0.99           ? 5
            : first && share >= 0.5 ? 4.4
            : first                 ? 3.8
            : share > 0             ? 3.3
            : at_the_place          ? 2.3
                                    : 2;
    why = did.empty() ? "not done: " + join(missed, "; ") : "done: " + join(did, "; ");
    if (!did.empty() && !missed.empty()) why += "; not done: " + join(missed, "; ");
    if (!at_the_place && share > 0) {
      value -= 1;
      why += format("; but not in {}",
                    change.feedback.places.empty() ? change.hottest : join(change.feedback.places, ", "));
    }
  }
  if (is_broken(evidence.run.outcome) && !is_broken(change.before_run.outcome)) {
    value = std::min(value - 1.5, 3.0);
    why += format("; and now it is {}: {}", name(evidence.run.outcome), evidence.run.reason);
  } else if (faster && *faster < 0.95) {
    value -= 1;
    why += format("; {:.2f}x as fast as before", *faster);
  } else if (faster && *faster > 1.05) {
    why += format("; {:.2f}x as fast as before", *faster);
  } else if (faster && share > 0.99) {
    value -= 0.5;
    why += "; no faster";
  }
  return score_of(value, std::move(why));
}

Score from_feedback(const Evidence& evidence, const Change& change) {
  if (is_major_hacking(evidence)) return score_of(1, "cheating came in: see anti-hacking");
  if (evidence.code.code.empty()) return score_of(1, "there is no code left");
  if (change.identical) return score_of(1, "nothing but comments and blanks changed");
  if (handed_back(evidence, change))
    return score_of(1.8, format("the work was handed back to PyTorch: {} calls before, {} now",
                                change.before.torch.size(), evidence.code.torch.size()));
  std::vector<std::string> places = change.feedback.places;
  if (places.empty() && !change.hottest.empty()) places.push_back(change.hottest);
  // Without kernels before, whatever is new is at the place; a changed host side is one, too.
  const bool kernels_untouched = change.changed.empty() && change.gone.empty() && change.fresh.empty();
  const bool host_asked = std::ranges::any_of(change.feedback.asks, [](const std::string& ask) {
    return ask == "cuda_graph" || ask == "waiting" || ask == "allocating" || ask == "library" ||
           ask == "fusion" || ask == "parallelism" || ask == "own_kernel";
  });
  const bool at_the_place = places.empty() || names_any(places, change) ||
                            (host_asked && !kernels_untouched) ||
                            (host_asked && change.added + change.removed > 0) ||
                            (change.feedback.places.empty() && !change.fresh.empty());
  const bool was_broken = is_broken(change.before_run.outcome);
  if (was_broken || (change.feedback.repair && change.before_run.outcome != Outcome::passed))
    return repaired(evidence, change, at_the_place);
  return optimised(evidence, change, at_the_place);
}

}  // namespace

Score score_skill_compliance(const Evidence& evidence) {
  return evidence.change ? from_feedback(evidence, *evidence.change) : from_scratch(evidence);
}

}  // namespace stitch::rubric
