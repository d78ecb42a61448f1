// The tuner: finds the fastest values of a program's settings. Nothing is compiled: each value is timed in
// the whole program, created again with it, against the best so far.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "plan/context.h"
#include "plan/plan.h"
#include "program/manifest.h"
#include "verify/clock/settings_clock.h"

namespace stitch::agents {

// Results of earlier tuning, by GPU, library versions and decision: one small file each. They are hints: the
// tuner times them again in the current program.
class TuningCache {
 public:
  // `machine`: what the times apply to. Default folder: cache_folder()/tuning.
  explicit TuningCache(std::string machine, fs::path folder = {});

  std::optional<int64_t> find(const std::string& signature) const;
  // Atomic; a failed write only costs another trial.
  void remember(const std::string& signature, int64_t value, double gain) const;

 private:
  fs::path file_of(const std::string& signature) const;

  std::string machine_;
  fs::path folder_;
};

// One decision: a setting, or the same setting of similar regions.
struct Tunable {
  std::vector<std::string> names;
  std::string signature;        // key of the decision: technique, ops, types, layouts
  std::vector<int64_t> values;  // to try
  int64_t value = 0;            // the program's current value
  double seconds = 0;           // estimated time of all these regions per call
};
// Longest first, without negligible ones. `manifest` is of the plan's program: same regions, same order.
std::vector<Tunable> tunables_of(const plan::Context& context, const plan::Plan& plan,
                                 const Manifest& manifest);

// A value that failed, and why: refused, wrong, hung, crashed.
struct DroppedValue {
  std::string name;
  int64_t value = 0;
  std::string reason;
};

struct Tuned {
  runner::Settings settings;  // that differ from the program's defaults
  double gain = 1;            // measured speedup
  int tried = 0, kept = 0;    // values
  int known = 0;              // decisions that came from the cache
  std::vector<DroppedValue> dropped;
  std::string ended;  // why it ended early; empty: everything was tried
};
Json to_json(const Tuned& tuned);
Result<Tuned> read_tuned(const Json& json);

struct TuneOptions {
  std::function<double()> seconds_left;  // of the budget
  std::function<bool()> should_stop;
  std::function<void(std::string_view)> on_progress;
};
// Tunes one decision after another. A value is kept if it wins by more than the spread of the rounds; values
// from earlier runs are tried first, and alone if they win.
Tuned tune(const std::vector<Tunable>& tunables, verifier::SettingsClock& clock, const TuningCache& cache,
           const TuneOptions& options);

}  // namespace stitch::agents
