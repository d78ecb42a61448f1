// On the emulated GPU the threads of a block may run in any order between two barriers, and the nodes of a
// graph in any order that its edges allow. A program whose result depends on the order misses one or the
// other. A first call starts kernels one by one, or may; graphs are for the second, about other inputs, so
// that what the first left behind is wrong.
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/machine/fair_time.h"
#include "verify/attempt.h"
#include "verify/gates/gates.h"
#include "verify/numerics/judge.h"

namespace stitch::verifier {

namespace {

constexpr int most_late = 6;  // calls
constexpr std::chrono::seconds seconds_of_late{1};

Result<void> right(Session& session, Attempt& attempt, const Trial& trial, const char* code,
                   std::string_view doing) {
  STITCH_TRY(Observed observed, attempt.ask(trial, {.poison = session.next_seed()}));
  for (size_t i = 0; i < observed.outputs.size(); ++i) {
    STITCH_TRY(Comparison comparison, judge_output(session, trial, i, observed.outputs[i]));
    if (!comparison.passed)
      return found(code, format("with {} '{}' is wrong: {}", doing, session.task.signature.outputs[i].name,
                                comparison.reason));
  }
  return {};
}

}  // namespace

Result<Passed> thread_order(Session& session, Json&) {
  if (session.options.device != runner::Device::emulated || session.python)
    return skipped("only the emulated GPU can choose it");
  if (session.trials.empty()) return skipped("no trial to repeat");
  std::vector<std::pair<runner::ThreadOrder, const char*>> orders = {
      {runner::ThreadOrder::reversed, "reversed"}};
  if (!session.options.quick) {
    orders.emplace_back(runner::ThreadOrder::shuffled, "shuffled");
    orders.emplace_back(runner::ThreadOrder::lagging, "lagging");
  }
  for (auto [order, word] : orders) {
    STITCH_TRY(Attempt attempt, Attempt::start(session, Weights::task, order));
    STITCH_CHECK(
        right(session, attempt, session.trials[0], "missing_barrier", format("{} thread order", word)));
    STITCH_CHECK(right(session, attempt, session.trials[session.trials.size() > 1 ? 1 : 0],
                       "missing_dependency",
                       format("threads and a graph's nodes in {} order, in the second call,", word)));
    // Which warps are late is another matter at each launch.
    FairTime time(seconds_of_late);
    for (int call = 0; order == runner::ThreadOrder::lagging && call < most_late && time.another(); ++call)
      STITCH_CHECK(right(session, attempt, session.trials[0], "missing_barrier", "some warps late"));
  }
  return Passed{orders.size() > 1 ? "forward, reversed, shuffled and with late warps agree"
                                  : "forward and reversed agree"};
}

}  // namespace stitch::verifier
