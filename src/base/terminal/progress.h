// One line with the current activity, and optional lines below it. On a terminal they
// are redrawn in place, and gone at the end; elsewhere the plain line alone appears at most every 10 seconds;
// when quiet, nothing does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "base/terminal/terminal.h"

namespace stitch {

struct ProgressState {
  std::string label;   // what is being done: "importing"
  std::string detail;  // to what: "9_ResNet18.py"
  int64_t done = 0;
  int64_t total = 0;  // 0: unknown, so a spinner instead of a bar
  double seconds = 0;
  int frame = 0;          // which picture of the spinner
  bool stopping = false;  // Ctrl-C was pressed once
};
// The line for a state, without colours, no wider than the terminal.
std::string progress_line(const ProgressState& state, const Terminal& terminal);
// Rows of the screen that lines take once it is `width` columns wide: wider ones are wrapped there.
int rows_of(const std::vector<std::string>& lines, int width);

class Progress {
 public:
  Progress(std::ostream& out, const Terminal& terminal, bool quiet, std::string label, int64_t total = 0);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void detail(std::string_view text);
  void advance(int64_t count = 1);
  // A line of its own that stays, above the updating one.
  void say(std::string_view line);
  // Lines below the updating one, for a terminal of this width; asked for at every redraw, from another
  // thread. They may have colours.
  using Below = std::function<std::vector<std::string>(const Terminal&)>;
  void show_below(Below below);

 private:
  using Clock = std::chrono::steady_clock;
  void watch();
  void draw();   // under the mutex
  void erase();  // under the mutex

  std::ostream& out_;
  const Terminal terminal_;
  const bool quiet_;
  const Clock::time_point start_ = Clock::now();
  ProgressState state_;
  Below below_;
  std::vector<std::string> drawn_;  // on the screen now
  bool finished_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread watcher_;
};

}  // namespace stitch
