#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/loop/loop.h"
#include "agents/record/replay.h"
#include "base/contained.h"

namespace stitch::agents {

// A step like any other, after the search.
void Loop::tune_settings() {
  const auto begin = Clock::now();
  if (!ledger_.measured)
    return skip_tuning(options_.device == runner::Device::emulated ? "times on the emulated GPU mean nothing"
                                                                   : "nothing is timed");
  if (stopped()) return skip_tuning("stopped");
  if (spent()) {
    not_tried({{"tune", "settings, tried on the GPU", {}, 0}}, Outcome::not_tried);
    return skip_tuning("the budget is spent");
  }
  const Program& best = kept_.back();
  std::vector<Tunable> tunables = tunables_of(*context_, best.plan, best.contents.manifest);
  if (tunables.empty()) return skip_tuning("the program has no settings to tune");
  LedgerEntry entry{.step = "tune",
                    .why = "settings, tried on the GPU",
                    .before = best.seconds,
                    .outcome = Outcome::not_better};
  const std::optional<Tuned> before = options_.replay ? options_.replay->tuned() : std::nullopt;
  const Tuned tuned = before ? *before : search(tunables, entry);
  if (!entry.no_verdict && !stopped()) tell(TuningEnded{tuned});
  tuning_ = std::make_shared<const Json>(to_json(tuned));
  if (tuned.settings.empty()) {
    if (!entry.no_verdict)
      entry.note = format("none of {} values tried is faster{}{}", tuned.tried,
                          tuned.ended.empty() ? "" : "; ", tuned.ended);
    return end(std::move(entry), Action::roll_back, begin);
  }
  take({.step = entry.step,
        .why = entry.why,
        .plan = best.plan,
        .settings = tuned.settings,
        .predicted_seconds = best.predicted_seconds,
        .judging = best.judging == Judging::as_shipped ? Judging::as_shipped : Judging::quickly,
        .needed = true});
  ledger_.entries.back().seconds = seconds_since(begin);
}

void Loop::skip_tuning(std::string why) {
  tell(TuningSkipped{why});
  tuning_ = std::make_shared<const Json>(Json{{"skipped", std::move(why)}});
}

// With what is left of the budget, at most a third of it. Whatever goes wrong costs the tuning and nothing
// else.
Tuned Loop::search(const std::vector<Tunable>& tunables, LedgerEntry& entry) {
  const double most = std::min(seconds_left(), static_cast<double>(options_.budget.count()) / 3);
  const auto begin = Clock::now();
  TuneOptions limits{.seconds_left = [&] { return most - seconds_since(begin); },
                     .should_stop = options_.should_stop,
                     .on_progress = [&](std::string_view text) { tell(Doing{text}); }};
  auto tuned = contained([&]() -> Result<Tuned> {
    const fs::path program = scratch_ / "tune";
    STITCH_CHECK(write_package(program, kept_.back().contents));
    STITCH_TRY(auto clock, brains_.verifier->settings_clock(program));
    return elsewhere([&] { return tune(tunables, *clock, TuningCache(clock->machine()), limits); });
  });
  if (tuned) return *std::move(tuned);
  entry.outcome = outcome_of(tuned.error());
  entry.no_verdict = std::move(tuned).error();
  if (entry.outcome == Outcome::our_trouble) renew();
  return Tuned{.ended = entry.no_verdict->message};
}

}  // namespace stitch::agents
