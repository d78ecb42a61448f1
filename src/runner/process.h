// The process a candidate lives in: its pipes, its deadline, its memory, and what it died of.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/file.h"
#include "base/process.h"
#include "runner/borrow.h"
#include "runner/candidate.h"

namespace stitch::runner {

struct ProcessLimits {
  bool signals_as_codes = false;  // something stands between that reports a signal as exit code 128 + signal

  int64_t memory = 0;                   // bytes, of it and what it started
  int64_t printed = int64_t{64} << 20;  // bytes on stdout and stderr together
  int64_t answer = int64_t{64} << 20;   // bytes of one answer
  int64_t shared = 0;                   // of its memory, what is this side's arena
  int threads = 0;                      // of it and what it started
  fs::path scratch;                     // what it may write to, and how much: bytes
  int64_t disk = 0;
  fs::path group;                               // the control group that it is in, if it is in one
  const std::atomic<bool>* given_up = nullptr;  // true: it is to end
};

struct Answer {
  std::string line;
  int64_t round_trip_ns = 0;  // from the request's first byte to the answer's last
};

class Process {
 public:
  // The command with descriptors 3, 4 and 5 as the README has them, in a process group of its own. It dies
  // with the thread that started it.
  static Result<Process> start(const Command& command, const ProcessLimits& limits);
  // The same, lent by somebody who has imported PyTorch; nothing where nobody lends it.
  static std::optional<Process> start_lent(const fs::path& python,
                                           const sandbox::ForkConfinement& confinement,
                                           const ProcessLimits& limits);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  void set_shared_bytes(int64_t bytes) { limits_.shared = bytes; }
  // One request, one answer. After a Failure the process is gone. A descriptor travels with the request.
  std::variant<Answer, Failure> ask(std::string_view request, std::chrono::milliseconds time_limit,
                                    int descriptor = -1);
  // What it has taken meanwhile, for whoever asks quick questions; now and then.
  std::optional<Failure> look();
  // Ends it for `kind`, and says so in `message`.
  Failure end(FailureKind kind, std::string message);
  int number() const { return pid_; }
  // What it holds now is none of the candidate's: pages of the process that it is a fork of.
  void forgive_memory();
  const std::string& printed() const { return printed_; }
  // What was printed so far is another candidate's.
  void forget_printed();
  // No more requests: waits for its own end, and kills it after `patience`.
  const std::string& finish(std::chrono::milliseconds patience);

 private:
  Process() = default;
  struct Channels;
  static Process over(Channels& channels, pid_t pid, const ProcessLimits& limits);
  std::optional<Failure> look_after(std::chrono::steady_clock::time_point deadline);
  bool drain_printed();  // false: too much of it
  Failure autopsy();
  Failure autopsy_of(int status);
  void kill_all();
  bool reap(std::chrono::milliseconds patience);
  void close_pipes();

  pid_t pid_ = -1;
  std::optional<Borrowed> lent_;  // no child of ours
  int64_t forgiven_ = 0;          // bytes
  std::optional<int> status_;     // waitpid's, once it is gone
  int requests_ = -1, answers_ = -1, output_ = -1;
  ProcessLimits limits_;
  std::chrono::steady_clock::time_point disk_looked_at_;
  int64_t printed_bytes_ = 0;
  std::string printed_;
};

}  // namespace stitch::runner
