// The live view of optimize: the steps with their outcomes, the current attempt, the best
// time against the baselines, the budget, the last lines of the log. Below the progress line on a terminal;
// elsewhere the progress line has to do.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "agents/events.h"
#include "base/progress.h"
#include "cli/model_options.h"

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
  int step = 0, of = 0;            // the step at hand and how many there may be; 0: not known
  double left = 0;                 // seconds, estimated; 0: not known
};
// None wider than the terminal.
std::vector<std::string> view_lines(const ViewState& state, const Terminal& terminal);

// Where a run is in its list of steps, and how long the rest may take. Steps that change nothing for a model
// are passed over, so the number may jump.
class StepCount {
 public:
  explicit StepCount(std::vector<std::string> names) : names_(std::move(names)) {}
  // At `elapsed` seconds of the run. A name that is not in the list is a step of its own, and no number is
  // known.
  void start(std::string_view name, double elapsed);
  int step() const { return at_; }
  int of() const { return at_ > 0 ? static_cast<int>(names_.size()) : 0; }
  // At the pace so far; 0 before there is one. Never beyond the budget and a last step behind it.
  double left(double elapsed, double budget) const;

 private:
  std::vector<std::string> names_;
  int at_ = 0;  // counted from 1
  double begin_ = -1, last_begin_ = 0;
};
// The built-in Planner's list, with tuning and the final verification; empty: the list is not known
// beforehand.
std::vector<std::string> expected_steps(bool builtin, bool one_by_one, bool tuned);
inline constexpr std::string_view final_step = "final verification";

class OptimizeView final : public agents::EventSink {
 public:
  OptimizeView(Progress& progress, Warnings& warnings, std::chrono::seconds budget,
               std::vector<std::string> expected = {});
  ~OptimizeView() override { progress_.show_below({}); }
  OptimizeView(const OptimizeView&) = delete;
  OptimizeView& operator=(const OptimizeView&) = delete;
  void on(const agents::Event& event) override;

 private:
  void take(const agents::Event& event);  // under the mutex
  void look_at_the_clock();               // under the mutex

  Progress& progress_;
  std::function<void(std::string_view)> warn_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  ViewState state_;
  StepCount count_;
};

}  // namespace stitch
