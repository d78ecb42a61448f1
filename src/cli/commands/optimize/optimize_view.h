// The live view of optimize: the steps with their outcomes, the current attempt, the best
// time against the baselines, the budget, the last lines of the log. Below the progress line on a terminal;
// elsewhere the progress line has to do.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "agents/record/events.h"
#include "base/json.h"
#include "base/terminal/progress.h"
#include "base/terminal/terminal.h"
#include "cli/arguments.h"

namespace stitch {

struct ViewState {
  struct Step {
    std::string name, said;  // why it was dropped, or what is being done
    enum class Fate : uint8_t { at_hand, kept, dropped } fate = Fate::at_hand;
    double before = 0, after = 0;  // seconds per call
    int attempt = 0;
  };
  std::vector<Step> steps;
  int attempts = 0;
  double best = 0;  // seconds per call
  std::vector<std::pair<std::string, double>> baselines;
  std::deque<std::string> log;
  double budget = 0, elapsed = 0;  // seconds
};
// None wider than the terminal.
std::vector<std::string> view_lines(const ViewState& state, const Terminal& terminal);

class OptimizeView final : public agents::EventSink {
 public:
  OptimizeView(Progress& progress, Warnings& warnings, std::chrono::seconds budget);
  ~OptimizeView() override { progress_.show_below({}); }
  OptimizeView(const OptimizeView&) = delete;
  OptimizeView& operator=(const OptimizeView&) = delete;
  void on(const agents::Event& event) override;
  bool has_steps() const { return has_steps_; }  // the first was begun

 private:
  void take(const agents::Event& event);  // under the mutex
  void look_at_the_clock();               // under the mutex

  Progress& progress_;
  std::function<void(std::string_view)> warn_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  ViewState state_;
  std::atomic<bool> has_steps_ = false;
};

// What a run of optimize came to: faster or slower than what, why, and what to do next.

// Seconds a call; 0: not known. `run`: what optimize --json prints.
struct Standing {
  double own = 0, best = 0;
  std::string best_name;                    // of PyTorch's baselines
  std::map<std::string, double> baselines;  // those with a time
  bool measured = false;                    // else all of these are the cost model's estimates

  double over_pytorch() const { return own > 0 && best > 0 ? best / own : 0; }
  // Than the best PyTorch; false where its time is not known.
  bool slower() const { return best > 0 && own > 0 && own >= best; }
};
Standing standing_of(const Json& run);

// "308 us per call: 1.21x as fast as the best PyTorch (compile-graph, 370 us)."
std::string headline(const Json& run);

// Adds what a reader wants to know first: "headline", "pytorch" (seconds by baseline, the best of them),
// "slower_because" where that is so, "bottleneck", and each region's "measured_seconds".
void add_summary(Json& run);

// What the profile gate says limits the call, as a sentence; empty: nothing was measured.
std::string bottleneck_of(const Json& verdict);

struct SummaryPlaces {
  std::string model, program, report;
};
// "What to do next", the most useful first.
std::vector<std::string> next_steps(const Json& run, const SummaryPlaces& places);
// The end of optimize's output.
std::string summary_text(const Json& run, const SummaryPlaces& places, const Terminal& terminal);

}  // namespace stitch
