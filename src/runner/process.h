// A candidate's process: pipes, deadline, limits, exit reason.
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
#include "base/machine/process.h"
#include "runner/borrow.h"
#include "runner/candidate.h"

namespace stitch::runner {

struct ProcessLimits {
  bool signals_as_codes = false;  // a parent in between reports signals as exit code 128 + signal

  int64_t memory = 0;                   // bytes, including descendants
  int64_t printed = int64_t{64} << 20;  // bytes on stdout and stderr together
  int64_t answer = int64_t{64} << 20;   // bytes of one answer
  int64_t shared = 0;                   // of its memory, this side's arena
  int threads = 0;                      // including descendants
  fs::path scratch;                     // writable folder, and its limit in bytes
  int64_t disk = 0;
  fs::path group;                               // its cgroup; empty: none
  const std::atomic<bool>* given_up = nullptr;  // true: cancelled
};

struct Answer {
  std::string line;
  int64_t round_trip_ns = 0;  // from the request's first byte to the answer's last
};

class Process {
 public:
  // Starts the command with descriptors 3, 4 and 5 (README) in its own process group. It dies with the
  // calling thread.
  static Result<Process> start(const Command& command, const ProcessLimits& limits);
  // A fork of a process that has imported PyTorch (borrow.h); empty if there is no server.
  static std::optional<Process> start_lent(const fs::path& python,
                                           const sandbox::ForkConfinement& confinement,
                                           const ProcessLimits& limits);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  void set_shared_bytes(int64_t bytes) { limits_.shared = bytes; }
  // After a Failure the process is gone. `descriptor` is sent with the request.
  std::variant<Answer, Failure> ask(std::string_view request, std::chrono::milliseconds time_limit,
                                    int descriptor = -1);
  // Checks its resource usage, rate-limited: for callers that send many short requests.
  std::optional<Failure> check_usage();
  // Kills it and returns the failure.
  Failure end(FailureKind kind, std::string message);
  int number() const { return pid_; }
  // Excludes its present memory, which is shared with the process it was forked from.
  void exclude_inherited_memory();
  const std::string& printed() const { return printed_; }
  // Drops the output of the previous candidate.
  void forget_printed();
  // Closes the request channel, waits for it to exit, and kills it after `patience`.
  const std::string& finish(std::chrono::milliseconds patience);

 private:
  Process() = default;
  struct Channels;
  static Process over(Channels& channels, pid_t pid, const ProcessLimits& limits);
  std::optional<Failure> check_limits(std::chrono::steady_clock::time_point deadline);
  bool drain_printed();  // false: over the limit
  Failure exit_reason();
  Failure exit_reason(int status);
  void kill_all();
  bool reap(std::chrono::milliseconds patience);
  void close_pipes();

  pid_t pid_ = -1;
  std::optional<Borrowed> lent_;  // set if not our child
  int64_t inherited_memory_ = 0;  // bytes
  std::optional<int> status_;     // waitpid's, once it has exited
  int requests_ = -1, answers_ = -1, output_ = -1;
  ProcessLimits limits_;
  std::chrono::steady_clock::time_point disk_checked_at_;
  int64_t printed_bytes_ = 0;
  std::string printed_;
};

}  // namespace stitch::runner
