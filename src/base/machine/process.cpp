#include "base/machine/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/error_codes.h"
#include "base/machine/descriptor.h"
#include "base/machine/interrupt.h"
#include "base/terminal/log.h"
#include "base/text.h"

extern char** environ;

namespace stitch {

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t error_tail_limit = 64 * 1024;

Error stopped_on_request() { return work_error(error_code::stopped, "stopped on request"); }

std::vector<std::string> environment_with(const std::map<std::string, std::string>& extra) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) {
    std::string text = *entry;
    if (!extra.contains(text.substr(0, text.find('=')))) out.push_back(std::move(text));
  }
  for (const auto& [name, value] : extra) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// Without handlers of libraries: OpenBLAS's waits for its threads to end, and deadlocks if another thread of
// this process multiplies meanwhile.
int fork_alone() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  return ::_Fork();
#else
  return ::fork();
#endif
}

}  // namespace

Result<int> spawn(const Command& command, std::span<const int> descriptors) {
  std::array<int, 8> moved{};
  require(!command.words.empty() && descriptors.size() <= moved.size(), "a command has at least its program");
  auto program = find_program(command.words[0]);
  if (!program) return user_error("program", format("program '{}' not found on the PATH", command.words[0]));
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables = environment_with(command.extra_environment);
  std::vector<char*> argv = pointers(words), envp = pointers(variables);
  const std::string path = program->string();

  const int parent = ::getpid();
  const int pid = fork_alone();
  if (pid == 0) {
    // Only async-signal-safe calls from here on.
    ::setpgid(0, 0);
    ::signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    // First out of the way of the numbers to come, then to them.
    for (size_t i = 0; i < descriptors.size(); ++i) moved[i] = ::fcntl(descriptors[i], F_DUPFD_CLOEXEC, 16);
    for (size_t i = 0; i < descriptors.size(); ++i)
      if (::dup2(moved[i], static_cast<int>(i)) < 0) ::_exit(127);
    ::execve(path.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  if (pid < 0) return work_error("process", format("cannot start {}: {}", path, std::strerror(errno)));
  if (is_logging()) log_line(format("process {}: {}", pid, join(words, " ")));
  ::setpgid(pid, pid);
  return pid;
}

Result<Child> Child::start(const Command& command) {
  // Writing to a child that died must be an error to report, not the end of this process.
  static std::once_flag once;
  std::call_once(once, [] { ::signal(SIGPIPE, SIG_IGN); });
  Pipe in, out, err;
  if (!in.open() || !out.open() || !err.open())
    return work_error("process", format("cannot create a pipe: {}", std::strerror(errno)));
  Child child;
  STITCH_TRY(child.pid_, spawn(command, std::array{in.read.get(), out.write.get(), err.write.get()}));
  child.in_ = in.write.release();
  child.out_ = out.read.release();
  child.err_ = err.read.release();
  ::fcntl(child.err_, F_SETFL, O_NONBLOCK);
  if (command.time_limit.count() > 0) child.deadline_ = Clock::now() + command.time_limit;
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      deadline_(other.deadline_),
      timed_out_(other.timed_out_),
      pending_(std::move(other.pending_)),
      error_tail_(std::move(other.error_tail_)) {}

Child::~Child() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (int fd : {in_, out_, err_})
    if (fd >= 0) ::close(fd);
}

Result<void> Child::send(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  int failure = 0;
  while (!rest.empty() && !failure) {
    ssize_t count = ::write(in_, rest.data(), rest.size());
    if (count >= 0)
      rest.remove_prefix(static_cast<size_t>(count));
    else if (errno != EINTR)
      failure = errno;
  }
  if (failure) return work_error("process", format("the child process is gone: {}", std::strerror(failure)));
  return {};
}

void Child::close_input() {
  if (in_ >= 0) ::close(std::exchange(in_, -1));
}

void Child::drain_errors() {
  char buffer[4096];
  for (ssize_t count; err_ >= 0 && (count = ::read(err_, buffer, sizeof buffer)) != -1;) {
    if (count == 0) {
      ::close(std::exchange(err_, -1));
      break;
    }
    error_tail_.append(buffer, static_cast<size_t>(count));
    if (error_tail_.size() > 2 * error_tail_limit)
      error_tail_.erase(0, error_tail_.size() - error_tail_limit);
  }
}

Result<std::string> Child::read_line() {
  for (;;) {
    if (size_t end = pending_.find('\n'); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    int wait_ms = -1;
    if (deadline_ != Clock::time_point::max()) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0) {
        timed_out_ = true;
        ::kill(-pid_, SIGKILL);
        return work_error("timeout", "the child process exceeded its time limit");
      }
      wait_ms = static_cast<int>(std::min<long long>(left, 1 << 30));
    }
    if (children_are_watched()) {
      if (children_should_end()) {
        ::kill(-pid_, SIGKILL);
        return stopped_on_request();
      }
      constexpr int look_ms = 200;
      wait_ms = wait_ms < 0 ? look_ms : std::min(wait_ms, look_ms);
    }
    pollfd ready[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    if (::poll(ready, 2, wait_ms) < 0 && errno != EINTR)
      return work_error("process", format("poll: {}", std::strerror(errno)));
    drain_errors();
    if (ready[0].revents == 0) continue;
    char buffer[1 << 16];
    ssize_t count = ::read(out_, buffer, sizeof buffer);
    if (count > 0) {
      pending_.append(buffer, static_cast<size_t>(count));
    } else if (count == 0) {
      if (pending_.empty()) return work_error("end", "the child process's output ended");
      return std::exchange(pending_, {});
    } else if (errno != EINTR && errno != EAGAIN) {
      return work_error("process", format("read: {}", std::strerror(errno)));
    }
  }
}

void Child::stop() const { ::kill(-pid_, SIGTERM); }

Finished Child::wait() {
  close_input();
  while (read_line()) {
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ::kill(-pid_, SIGKILL);  // whatever it left running
  const int pid = std::exchange(pid_, -1);
  drain_errors();
  Finished finished;
  finished.timed_out = timed_out_;
  finished.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (error_tail_.size() > error_tail_limit) error_tail_.erase(0, error_tail_.size() - error_tail_limit);
  finished.error_tail = std::move(error_tail_);
  if (is_logging()) log_line(format("process {}: exit code {}", pid, finished.exit_code));
  return finished;
}

Result<Finished> run(const Command& command, const std::function<void(std::string_view)>& on_line) {
  STITCH_TRY(Child child, Child::start(command));
  child.close_input();
  while (auto line = child.read_line())
    if (on_line) on_line(*line);
  Finished finished = child.wait();
  if (children_should_end()) return stopped_on_request();
  return finished;
}

std::optional<fs::path> find_program(std::string_view name) {
  auto runnable = [](const fs::path& path) {
    std::error_code ec;
    return fs::is_regular_file(path, ec) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos)
    return runnable(name) ? std::optional(fs::path(name)) : std::nullopt;
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "/usr/bin:/bin", ':'))
    if (fs::path candidate = fs::path(folder) / name; runnable(candidate)) return candidate;
  return std::nullopt;
}

fs::path executable_folder() {
  std::error_code ec;
  return fs::read_symlink("/proc/self/exe", ec).parent_path();
}

}  // namespace stitch
