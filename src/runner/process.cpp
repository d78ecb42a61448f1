#include "runner/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/machine/descriptor.h"
#include "base/text.h"
#include "runner/process_usage.h"
#include "runner/wire.h"
#include "sandbox/control_group.h"

namespace stitch::runner {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t tail_bytes = 64 << 10;
// How often a busy child's memory is checked: 20 ms of writing is about 100 MB past the limit.
constexpr milliseconds usage_check_interval{20}, disk_check_interval{100};

// A socket instead of a pipe, since it can carry descriptors. Data in the other direction is ignored.
bool open_socket(Pipe& pipe) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  pipe.read = Descriptor(ends[0]);
  pipe.write = Descriptor(ends[1]);
  return true;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? format("SIG{}", name) : format("signal {}", signal);
}

}  // namespace

struct Process::Channels {
  Pipe requests, answers, output;
  Descriptor nothing;
  bool open() {
    nothing = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return open_socket(requests) && answers.open() && output.open() && nothing.get() >= 0;
  }
  // In the order of the child's descriptor numbers. The last is a placeholder for the arena, which comes with
  // a request.
  std::array<int, 6> given() const {
    return {nothing.get(),       output.write.get(),  output.write.get(),
            requests.read.get(), answers.write.get(), nothing.get()};
  }
};

Process Process::over(Channels& channels, pid_t pid, const ProcessLimits& limits) {
  ::signal(SIGPIPE, SIG_IGN);  // a dead candidate is a failure to report, not the end of this process
  Process process;
  process.pid_ = pid;
  process.limits_ = limits;
  process.requests_ = channels.requests.write.release();
  process.answers_ = channels.answers.read.release();
  process.output_ = channels.output.read.release();
  for (int fd : {process.requests_, process.answers_, process.output_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return process;
}

Result<Process> Process::start(const Command& command, const ProcessLimits& limits) {
  Channels channels;
  if (!channels.open()) return work_error("process", format("cannot make a pipe: {}", std::strerror(errno)));
  STITCH_TRY(const pid_t pid, spawn(command, channels.given()));
  return over(channels, pid, limits);
}

std::optional<Process> Process::start_lent(const fs::path& python,
                                           const sandbox::ForkConfinement& confinement,
                                           const ProcessLimits& limits) {
  Channels channels;
  if (!channels.open()) return std::nullopt;
  std::optional<Borrowed> lent = borrow(python, confinement, channels.given());
  if (!lent) return std::nullopt;
  Process process = over(channels, lent->pid, limits);
  process.lent_ = std::move(lent);
  return process;
}

void Process::exclude_inherited_memory() {
  inherited_memory_ = lent_ ? usage_of(pid_, true).memory - limits_.shared : 0;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      lent_(std::exchange(other.lent_, std::nullopt)),
      inherited_memory_(other.inherited_memory_),
      status_(other.status_),
      requests_(std::exchange(other.requests_, -1)),
      answers_(std::exchange(other.answers_, -1)),
      output_(std::exchange(other.output_, -1)),
      limits_(std::move(other.limits_)),
      printed_bytes_(other.printed_bytes_),
      printed_(std::move(other.printed_)) {}

Process::~Process() {
  kill_all();
  close_pipes();
}

void Process::close_pipes() {
  for (int* fd : {&requests_, &answers_, &output_})
    if (*fd >= 0) ::close(std::exchange(*fd, -1));
}

void Process::kill_all() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  if (lent_) {
    lent_->wait_until_gone();
    lent_.reset();
    if (!status_) status_ = SIGKILL;
  }
  if (!status_) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
    // Processes that joined the group meanwhile.
    ::kill(-pid_, SIGKILL);
  }
  pid_ = -1;
}

bool Process::reap(milliseconds patience) {
  if (lent_ && !status_) status_ = lent_->status(patience);
  if (lent_) return status_.has_value();
  const Clock::time_point until = Clock::now() + patience;
  while (!status_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_)
      status_ = status;
    else if (Clock::now() >= until)
      return false;
    else
      std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

const std::string& Process::finish(milliseconds patience) {
  if (requests_ >= 0) ::close(std::exchange(requests_, -1));
  const Clock::time_point until = Clock::now() + patience;
  // Drain its output: a full pipe would keep it from exiting.
  while (!reap(milliseconds(5)) && Clock::now() < until && drain_printed()) {
  }
  drain_printed();
  kill_all();
  return printed_;
}

bool Process::drain_printed() {
  char buffer[1 << 16];
  for (ssize_t count; output_ >= 0 && (count = ::read(output_, buffer, sizeof buffer)) != -1;) {
    if (count == 0) {
      ::close(std::exchange(output_, -1));
      break;
    }
    printed_bytes_ += count;
    printed_.append(buffer, static_cast<size_t>(count));
    if (printed_.size() > 2 * tail_bytes) printed_.erase(0, printed_.size() - tail_bytes);
    if (printed_bytes_ > limits_.printed) return false;
  }
  return true;
}

void Process::forget_printed() {
  drain_printed();
  printed_.clear();
  printed_bytes_ = 0;
}

Failure Process::end(FailureKind kind, std::string message) {
  kill_all();
  drain_printed();
  close_pipes();
  if (printed_.size() > tail_bytes) printed_.erase(0, printed_.size() - tail_bytes);
  return {kind, 0, std::move(message), printed_};
}

Failure Process::exit_reason(int status) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const bool signalled = WIFSIGNALED(status) || (limits_.signals_as_codes && code > 128);
  if (!signalled) {
    Failure failure = end(FailureKind::left_early,
                          format("it ended its own process with exit code {} instead of answering", code));
    failure.code = code;
    return failure;
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : code - 128;
  Failure failure;
  switch (signal) {
    case SIGSYS:
      failure = end(FailureKind::forbidden,
                    "it made a system call the sandbox forbids: starting a process, opening a socket, "
                    "tracing or mounting");
      break;
    case SIGXFSZ:
      failure = end(FailureKind::forbidden, "it wrote a larger file than the sandbox allows");
      break;
    case SIGKILL:
      if (!limits_.group.empty() && sandbox::ran_out_of_memory(limits_.group)) {
        failure = end(FailureKind::out_of_memory, "it took more memory than its control group has");
        break;
      }
      failure = end(FailureKind::killed, "the system killed it, most likely for lack of memory");
      break;
    default:
      failure = end(FailureKind::crashed, format("it crashed with {} ({})", signal_name(signal),
                                                 ::sigdescr_np(signal) ? ::sigdescr_np(signal) : "unknown"));
  }
  failure.code = signal;
  return failure;
}

Failure Process::exit_reason() {
  // A process whose pipe closed is normally a zombie by now.
  if (reap(milliseconds(5000))) return exit_reason(*status_);
  return end(FailureKind::broken_protocol, "it closed the channel it answers on, and ran on");
}

// Checks deadline, output, memory, threads and disk of a working child.
std::optional<Failure> Process::check_limits(Clock::time_point deadline) {
  if (!drain_printed())
    return end(FailureKind::output_limit,
               format("it printed more than {}", bytes_text(static_cast<double>(limits_.printed))));
  if (Clock::now() >= deadline) return end(FailureKind::hung, "");
  if (limits_.given_up && *limits_.given_up) return end(FailureKind::killed, "it was cancelled");
  const bool thorough = Clock::now() - disk_checked_at_ > disk_check_interval;
  const Usage usage = usage_of(pid_, thorough);
  if (limits_.threads > 0 && usage.threads > limits_.threads)
    return end(FailureKind::forbidden, format("it has {} threads in {} processes; its limit is {} threads",
                                              usage.threads, usage.processes, limits_.threads));
  if (thorough) disk_checked_at_ = Clock::now();
  if (limits_.disk > 0 && thorough) {
    if (const int64_t disk = disk_bytes(limits_.scratch, pid_); disk > limits_.disk)
      return end(FailureKind::forbidden, format("it wrote {} to its scratch folder; its limit is {}",
                                                bytes_text(static_cast<double>(disk)),
                                                bytes_text(static_cast<double>(limits_.disk))));
  }
  const int64_t resident = usage.memory - limits_.shared - inherited_memory_;
  if (limits_.memory > 0 && resident > limits_.memory)
    return end(FailureKind::out_of_memory,
               format("it took {} of memory; its limit is {}", bytes_text(static_cast<double>(resident)),
                      bytes_text(static_cast<double>(limits_.memory))));
  return std::nullopt;
}

std::optional<Failure> Process::check_usage() {
  if (pid_ <= 0 || Clock::now() - disk_checked_at_ <= disk_check_interval) return std::nullopt;
  return check_limits(Clock::time_point::max());
}

std::variant<Answer, Failure> Process::ask(std::string_view request, milliseconds time_limit,
                                           int descriptor) {
  const Clock::time_point start = Clock::now();
  Clock::time_point deadline = start + time_limit;
  char buffer[1 << 16];
  if (::read(answers_, buffer, 1) == 1)
    return end(FailureKind::broken_protocol, "it answered without a request");
  std::string line;
  Clock::time_point checked = start;
  std::optional<double> waited;
  for (;;) {
    // The request may exceed the pipe's capacity, and the child may read slowly.
    pollfd ready[3] = {
        {request.empty() ? -1 : requests_, POLLOUT, 0}, {answers_, POLLIN, 0}, {output_, POLLIN, 0}};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    const int wait = static_cast<int>(std::clamp<int64_t>(left.count(), 0, usage_check_interval.count()));
    if (::poll(ready, 3, wait) < 0 && errno != EINTR)
      return end(FailureKind::broken_protocol, format("poll: {}", std::strerror(errno)));
    if (ready[0].revents) {
      const ssize_t count = descriptor >= 0 ? send_with_descriptor(requests_, request, descriptor)
                                            : ::write(requests_, request.data(), request.size());
      if (count > 0) {
        request.remove_prefix(static_cast<size_t>(count));
        descriptor = -1;
      }
      if (count < 0 && errno == EPIPE) return exit_reason();
    }
    if (ready[1].revents) {
      const ssize_t count = ::read(answers_, buffer, sizeof buffer);
      if (count == 0) return exit_reason();
      if (count > 0) line.append(buffer, static_cast<size_t>(count));
      const size_t end_of_line =
          count > 0 ? line.find('\n', line.size() - static_cast<size_t>(count)) : line.npos;
      if (end_of_line != line.npos) {
        const int64_t taken = std::chrono::nanoseconds(Clock::now() - start).count();
        if (end_of_line + 1 != line.size())
          return end(FailureKind::broken_protocol, "it answered more than once");
        line.pop_back();
        if (!drain_printed()) return *check_limits(deadline);
        return Answer{std::move(line), taken};
      }
      if (static_cast<int64_t>(line.size()) > limits_.answer)
        return end(FailureKind::broken_protocol, "its answer has no end");
    }
    if (ready[2].revents || Clock::now() - checked >= usage_check_interval) {
      checked = Clock::now();
      // While others have the cores its time doesn't run, within reason.
      constexpr int most_of_limit = 4;
      if (!waited) waited = waited_for_cores(pid_);
      if (checked >= deadline) {
        const std::chrono::duration<double> of_each{(waited_for_cores(pid_) - *waited) /
                                                    std::max(1, usage_of(pid_, false).threads)};
        deadline = start + std::min(time_limit + std::chrono::duration_cast<milliseconds>(of_each),
                                    most_of_limit * time_limit);
      }
      if (auto failure = check_limits(deadline)) {
        if (failure->kind == FailureKind::hung)
          failure->message = format("it did not answer within {}",
                                    seconds_text(static_cast<double>(time_limit.count()) / 1e3));
        return *failure;
      }
      // It may have exited while a descendant holds the pipe open.
      if (reap(milliseconds(0)) && !(ready[1].revents & POLLIN)) return exit_reason(*status_);
    }
  }
}

}  // namespace stitch::runner
