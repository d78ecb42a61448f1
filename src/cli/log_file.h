// --log FILE: what the user sees and what is done behind it, each line with the time. Secrets are left out.
#pragma once

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/console.h"

namespace stitch {

// While it lives, everything that `console` says and every line of base/terminal/log.h is appended to the
// file.
class LogFile {
 public:
  // `words`: the command line, its first line.
  static Result<std::unique_ptr<LogFile>> open(const fs::path& path, Console& console,
                                               const std::vector<std::string>& words);
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

 private:
  class Tee;
  LogFile(int descriptor, Console& console, std::vector<std::string> secrets);
  void write(std::string_view line);

  const int descriptor_;
  const std::vector<std::string> secrets_;
  Console& console_;
  std::unique_ptr<Tee> out_, err_;
};

// Values of environment variables that are keys by their names, or by a profile's key_env.
std::vector<std::string> secrets_of_environment();
std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

}  // namespace stitch
