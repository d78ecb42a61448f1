// The live view of optimize: the steps with their outcomes, the current attempt, the best
// time against the baselines, the budget, the last lines of the log. Below the progress line on a terminal;
// elsewhere the progress line has to do.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "agents/record/events.h"
#include "base/terminal/progress.h"
#include "cli/flags/model_options.h"

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

}  // namespace stitch
