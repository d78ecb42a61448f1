#include "base/terminal/progress.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/machine/time_account.h"
#include "base/terminal/log.h"

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

// Of an estimate: no tenths.
std::string duration_text(double seconds) {
  return seconds < 60 ? format("{:.0f} s", seconds) : elapsed(seconds);
}

std::string bar(double share, bool utf8) {
  int full = std::clamp(static_cast<int>(share * bar_width), 0, bar_width);
  std::string out;
  for (int i = 0; i < bar_width; ++i) out += utf8 ? (i < full ? "━" : "─") : (i < full ? "#" : ".");
  return out;
}

// Another program reads along (the Python package does): one JSON object a line, even where people want
// quiet.
bool machine_reads() {
  const char* wanted = std::getenv("STITCHCUDA_PROGRESS");
  return wanted && std::string_view(wanted) == "json";
}

std::string json_line(const ProgressState& state) {
  const Json line = {{"progress", state.label},
                     {"detail", state.detail},
                     {"done", state.done},
                     {"total", state.total},
                     {"seconds", state.seconds}};
  return line_text(line);
}

// Escape sequences take no room.
int columns_of(std::string_view line) {
  std::string plain;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (i < line.size() && !std::isalpha(static_cast<unsigned char>(line[i]))) ++i;
      continue;
    }
    plain += line[i];
  }
  return display_width(plain);
}

std::string back_to_start(const std::vector<std::string>& drawn, int width) {
  const int up = rows_of(drawn, width) - 1;
  return up > 0 ? format("\x1b[{}A\r", up) : "\r";
}

}  // namespace

int rows_of(const std::vector<std::string>& lines, int width) {
  int rows = 0;
  for (const std::string& line : lines)
    rows += std::max(1, (columns_of(line) + width - 1) / std::max(width, 1));
  return rows;
}

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
    if (state.total > state.done)
      line += format("  about {} left", duration_text(static_cast<double>(state.total - state.done) / rate));
  }
  if (state.stopping) line += "  stopping; Ctrl-C again ends at once";
  if (!state.detail.empty()) line += "  " + state.detail;
  return shorten(line, terminal.width - 1, Cut::end, terminal.utf8);
}

Progress::Progress(std::ostream& out, const Terminal& terminal, bool quiet, std::string label, int64_t total)
    : out_(out), terminal_(terminal), quiet_(quiet && !machine_reads()) {
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
  const bool often = terminal_.interactive || machine_reads();
  auto period = often ? Clock::duration(redraw_every) : Clock::duration(report_every);
  while (!wake_.wait_for(lock, period, [this] { return finished_; })) draw();
}

void Progress::draw() {
  state_.seconds = seconds_since(start_);
  state_.stopping = stop_requested();
  ++state_.frame;
  if (machine_reads()) {
    if (state_.frame % 5 == 0) out_ << json_line(state_) << '\n' << std::flush;
    return;
  }
  Terminal now = terminal_;
  // The terminal may have been resized.
  if (now.interactive && &out_ == &std::cerr) now.width = terminal_of(STDERR_FILENO).width;
  std::vector<std::string> lines = {progress_line(state_, now)};
  if (!terminal_.interactive) {
    out_ << lines[0] << '\n' << std::flush;
    return;
  }
  if (below_)
    for (std::string& line : below_(now)) lines.push_back(std::move(line));
  // One write: a screen between two pictures flickers.
  std::string picture = back_to_start(drawn_, now.width) + lines[0] + "\x1b[K";
  for (size_t i = 1; i < lines.size(); ++i) picture += '\n' + lines[i] + "\x1b[K";
  if (lines.size() < drawn_.size()) picture += "\x1b[J";
  out_ << picture << std::flush;
  drawn_ = std::move(lines);
}

void Progress::erase() {
  if (!drawn_.empty()) {
    const int width = &out_ == &std::cerr ? terminal_of(STDERR_FILENO).width : terminal_.width;
    out_ << back_to_start(drawn_, width) << (drawn_.size() > 1 ? "\x1b[J" : "\x1b[K") << std::flush;
  }
  drawn_.clear();
}

void Progress::show_below(Below below) {
  std::lock_guard lock(mutex_);
  below_ = std::move(below);
}

void Progress::detail(std::string_view text) {
  std::lock_guard lock(mutex_);
  if (is_logging() && state_.detail != text) log_line(format("{}: {}", state_.label, text));
  state_.detail = text;
}

void Progress::advance(int64_t count) {
  std::lock_guard lock(mutex_);
  state_.done += count;
}

void Progress::say(std::string_view line) {
  if (quiet_ || machine_reads()) {
    log_line(line);  // else the log has it from the stream
    return;
  }
  std::lock_guard lock(mutex_);
  erase();
  out_ << line << '\n' << std::flush;
}

}  // namespace stitch
