// The tuner: which values of a program's settings make a call of it shortest. Nothing is compiled: each value
// is tried in the whole program, made anew with it, against the best so far.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agents/tuning_cache.h"
#include "base/json.h"
#include "plan/context.h"
#include "plan/plan.h"
#include "program/manifest.h"
#include "verify/settings_clock.h"

namespace stitch::agents {

// One decision: a setting, or the same one of regions that are alike.
struct Tunable {
  std::vector<std::string> names;
  std::string signature;        // what is decided about: technique, ops, types, layouts
  std::vector<int64_t> values;  // that may be tried
  int64_t value = 0;            // that the program has
  double seconds = 0;           // of a call, estimated, of all these regions
};
// Heaviest first, without those that hardly count. `manifest` is that of the plan's program: its regions are
// the plan's, in order.
std::vector<Tunable> tunables_of(const plan::Context& context, const plan::Plan& plan,
                                 const Manifest& manifest);

// A value that was tried and didn't make it, and why: refused, wrong, hung, crashed, in words.
struct DroppedValue {
  std::string name;
  int64_t value = 0;
  std::string reason;
};

struct Tuned {
  runner::Settings settings;  // that differ from the program's own
  double gain = 1;            // how many times as fast, by the clock
  int tried = 0, kept = 0;    // values
  int known = 0;              // decisions that came from the cache
  std::vector<DroppedValue> dropped;
  std::string ended;  // why it ended before everything was tried; empty: it did not
};
Json to_json(const Tuned& tuned);
Result<Tuned> read_tuned(const Json& json);

struct TuneOptions {
  std::function<double()> seconds_left;  // of the budget
  std::function<bool()> should_stop;
  std::function<void(std::string_view)> on_progress;
};
// Decision by decision. A value stays if it wins by more than the spread of the rounds; what is known from
// earlier runs is tried first, and alone if it holds.
Tuned tune(const std::vector<Tunable>& tunables, verifier::SettingsClock& clock, const TuningCache& cache,
           const TuneOptions& options);

}  // namespace stitch::agents
