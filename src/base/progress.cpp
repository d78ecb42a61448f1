#include "base/progress.h"

#include <algorithm>
#include <array>

#include "base/format.h"

namespace stitch {

namespace {

constexpr auto redraw_every = std::chrono::milliseconds(100);
constexpr auto report_every = std::chrono::seconds(10);
constexpr int bar_width = 24;

std::string elapsed(double seconds) {
  int64_t whole = static_cast<int64_t>(seconds);
  if (whole < 60) return format("{:.1f} s", seconds);
  if (whole < 3600) return format("{}:{:02}", whole / 60, whole % 60);
  return format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string bar(double share, bool utf8) {
  int full = std::clamp(static_cast<int>(share * bar_width), 0, bar_width);
  std::string out;
  for (int i = 0; i < bar_width; ++i) out += utf8 ? (i < full ? "━" : "─") : (i < full ? "#" : ".");
  return out;
}

}  // namespace

std::string progress_line(const ProgressState& state, const Terminal& terminal) {
  constexpr std::array<const char*, 10> dots = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
  constexpr std::array<const char*, 4> strokes = {"|", "/", "-", "\\"};
  std::string line;
  if (terminal.interactive)
    line = format("{} ", terminal.utf8 ? dots[static_cast<size_t>(state.frame) % dots.size()]
                                       : strokes[static_cast<size_t>(state.frame) % strokes.size()]);
  line += state.label;
  if (state.total > 0) {
    double share = static_cast<double>(state.done) / static_cast<double>(state.total);
    if (terminal.interactive) line += ' ' + bar(share, terminal.utf8);
    line += format(" {}/{}", state.done, state.total);
  }
  line += "  " + elapsed(state.seconds);
  if (state.done > 1 && state.seconds > 1) {
    double rate = static_cast<double>(state.done) / state.seconds;
    line += rate >= 1 ? format("  {:.3g}/s", rate) : format("  {} each", elapsed(1 / rate));
  }
  if (!state.detail.empty()) line += "  " + state.detail;
  return shorten(line, terminal.width - 1, Cut::end, terminal.utf8);
}

Progress::Progress(std::ostream& out, const Terminal& terminal, bool quiet, std::string label, int64_t total)
    : out_(out), terminal_(terminal), quiet_(quiet) {
  state_.label = std::move(label);
  state_.total = total;
  // A thread of its own keeps the clock going while the work is silent.
  if (!quiet_) watcher_ = std::thread([this] { watch(); });
}

Progress::~Progress() {
  if (quiet_) return;
  {
    std::lock_guard lock(mutex_);
    finished_ = true;
  }
  wake_.notify_all();
  watcher_.join();
  erase();
}

void Progress::watch() {
  std::unique_lock lock(mutex_);
  auto period = terminal_.interactive ? Clock::duration(redraw_every) : Clock::duration(report_every);
  while (!wake_.wait_for(lock, period, [this] { return finished_; })) draw();
}

void Progress::draw() {
  state_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  ++state_.frame;
  std::string line = progress_line(state_, terminal_);
  if (terminal_.interactive)
    out_ << '\r' << line << "\x1b[K" << std::flush;
  else
    out_ << line << '\n' << std::flush;
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_ && terminal_.interactive) out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

void Progress::detail(std::string_view text) {
  std::lock_guard lock(mutex_);
  state_.detail = text;
}

void Progress::advance(int64_t count) {
  std::lock_guard lock(mutex_);
  state_.done += count;
}

void Progress::say(std::string_view line) {
  if (quiet_) return;
  std::lock_guard lock(mutex_);
  erase();
  out_ << line << '\n' << std::flush;
}

}  // namespace stitch
