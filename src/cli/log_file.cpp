#include "cli/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "base/terminal/log.h"
#include "base/text.h"
#include "llm/profiles/profile.h"

extern "C" char** environ;

namespace stitch {

namespace {

constexpr size_t shortest_secret = 6;  // "true" is no key, whatever its variable is called

// 2026-11-16T19:02:11.482Z
std::string time_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  const auto part =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return format("{}.{:03}Z", std::string_view(text.data(), length), part);
}

bool names_a_secret(std::string_view variable) {
  std::string name(variable);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return std::ranges::any_of(std::array{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"},
                             [&](const char* word) { return name.find(word) != std::string::npos; });
}

// Colours are for eyes.
std::string without_colours(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    while (i < text.size() && !std::isalpha(static_cast<unsigned char>(text[i]))) ++i;
  }
  return out;
}

// A picture of the progress line: it moves the cursor.
bool is_redrawn(std::string_view text) {
  return text.starts_with('\r') || text.find("\x1b[K") != text.npos || text.find("\x1b[J") != text.npos;
}

}  // namespace

// Between a stream and its buffer.
class LogFile::Tee : public std::streambuf {
 public:
  explicit Tee(std::ostream& stream) : stream_(stream), below_(stream.rdbuf(this)) {}
  ~Tee() override {
    if (!line_.empty()) log_line(line_);
    stream_.rdbuf(below_);
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    const std::string_view all(text, static_cast<size_t>(count));
    if (!is_redrawn(all)) take(all);
    return below_->sputn(text, count);
  }
  int overflow(int c) override {
    if (c == EOF) return 0;
    const char one = static_cast<char>(c);
    take({&one, 1});
    return below_->sputc(one);
  }
  int sync() override { return below_->pubsync(); }

 private:
  void take(std::string_view text) {
    line_ += text;
    for (size_t end; (end = line_.find('\n')) != std::string::npos; line_.erase(0, end + 1))
      log_line(without_colours(std::string_view(line_).substr(0, end)));
  }

  std::ostream& stream_;
  std::streambuf* below_;
  std::string line_;
};

std::vector<std::string> secrets_of_environment() {
  std::vector<std::string> out;
  auto add = [&](std::string_view value) {
    if (value.size() >= shortest_secret) out.emplace_back(value);
  };
  for (char** each = environ; each && *each; ++each) {
    const std::string_view pair(*each);
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && names_a_secret(pair.substr(0, equals)))
      add(pair.substr(equals + 1));
  }
  const auto environment = llm::process_environment();
  if (auto config = llm::load_config())
    for (const auto& [name, profile] : config->profiles)
      if (auto key = environment(profile.key_env)) add(*key);
  // The longest first: one may be the beginning of another.
  std::ranges::sort(out, [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return out;
}

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets)
    for (size_t at; (at = text.find(secret)) != std::string::npos;)
      text.replace(at, secret.size(), "[hidden]");
  return text;
}

Result<std::unique_ptr<LogFile>> LogFile::open(const fs::path& path, Console& console,
                                               const std::vector<std::string>& words) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return at(path.string(), user_error("log", format("cannot write the log: {}", std::strerror(errno)),
                                        "name a file in a folder with write permission"));
  std::unique_ptr<LogFile> out(new LogFile(descriptor, console, secrets_of_environment()));
  out->write(format("stitchcuda {} {}", STITCH_VERSION, join(words, " ")));
  return out;
}

LogFile::LogFile(int descriptor, Console& console, std::vector<std::string> secrets)
    : descriptor_(descriptor),
      secrets_(std::move(secrets)),
      console_(console),
      out_(std::make_unique<Tee>(console.out)),
      err_(&console.err == &console.out ? nullptr : std::make_unique<Tee>(console.err)) {
  set_log([this](std::string_view line) { write(line); });
}

LogFile::~LogFile() {
  console_.out.flush();
  console_.err.flush();
  out_.reset();
  err_.reset();
  set_log({});
  ::close(descriptor_);
}

// One write of one line, so that several processes can share a file.
void LogFile::write(std::string_view line) {
  const std::string text = time_text() + "  " + without_secrets(std::string(line), secrets_) + '\n';
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, text.data(), text.size());
}

}  // namespace stitch
