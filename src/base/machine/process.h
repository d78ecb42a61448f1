// Child processes: one process group each, so that nothing they start outlives them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace stitch {

struct Command {
  std::vector<std::string> words;  // program (looked up on PATH) and its arguments
  std::map<std::string, std::string> extra_environment;
  std::chrono::milliseconds time_limit{0};  // 0: none
};

struct Finished {
  int exit_code = -1;  // 128 + signal if it was killed
  bool timed_out = false;
  std::string error_tail;  // the last 64 kB of stderr
};

// Starts it in a process group of its own, with `descriptors` as its 0, 1, 2, …; it is killed when this
// process ends. Returns its number.
Result<int> spawn(const Command& command, std::span<const int> descriptors);

// A running child that is spoken to in lines: stdin in, stdout out.
class Child {
 public:
  static Result<Child> start(const Command& command);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills the whole group

  Result<void> send(std::string_view line);
  void close_input();
  // The next line without its newline; an error at the end of the output or the time limit.
  Result<std::string> read_line();
  Finished wait();
  // Asks the whole group to end; another thread may do so while this one reads.
  void stop() const;

 private:
  Child() = default;
  void drain_errors();
  int pid_ = -1, in_ = -1, out_ = -1, err_ = -1;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  bool timed_out_ = false;
  std::string pending_, error_tail_;
};

// Runs to the end, `on_line` for each line of stdout.
Result<Finished> run(const Command& command, const std::function<void(std::string_view)>& on_line = {});

// The program's full path, or nothing.
std::optional<fs::path> find_program(std::string_view name);
// The folder of the running executable.
fs::path executable_folder();

}  // namespace stitch
