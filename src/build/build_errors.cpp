#include "build/toolchain.h"

#include <cctype>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "base/error_codes.h"
#include "base/text.h"

namespace stitch::build {

namespace {

constexpr size_t most_errors = 12, most_context = 4, most_lines = 40, longest_line = 400;

bool is_number(std::string_view text) {
  for (char c : text)
    if (!std::isdigit(static_cast<unsigned char>(c))) return false;
  return !text.empty();
}

// The text after "error:" in any compiler's spelling.
std::optional<std::string> after_error(std::string_view rest) {
  for (std::string_view word : {"fatal error", "catastrophic error", "error", "Error", "fatal"}) {
    if (!rest.starts_with(word)) continue;
    std::string_view text = rest.substr(word.size());
    // nvcc: "error #20 : …", "error   : …"
    const size_t colon = text.find(':');
    if (colon == text.npos || colon > 12) continue;
    return trim(text.substr(colon + 1));
  }
  return std::nullopt;
}

// An error line as "file:line: message", or nothing.
std::optional<std::string> as_error(const std::string& line) {
  std::string_view text = line;
  // file(12): error: …
  for (size_t open = text.find('('); open != text.npos; open = text.find('(', open + 1)) {
    const size_t close = text.find("): ", open);
    if (close == text.npos || !is_number(text.substr(open + 1, close - open - 1))) continue;
    if (auto what = after_error(text.substr(close + 3)))
      return format("{}:{}: {}", text.substr(0, open), text.substr(open + 1, close - open - 1), *what);
  }
  // file:12:5: error: … and file:12: error: …
  for (size_t colon = text.find(": "); colon != text.npos; colon = text.find(": ", colon + 1)) {
    auto what = after_error(text.substr(colon + 2));
    if (!what) continue;
    std::vector<std::string> place = split(text.substr(0, colon), ':');
    if (place.size() >= 3 && is_number(place[place.size() - 1]) && is_number(place[place.size() - 2]))
      place.pop_back();
    if (place.size() >= 2 && is_number(place.back())) return join(place, ":") + ": " + *what;
    if (text.starts_with("collect2") || text.starts_with("clang: ") || text.starts_with("clang++: "))
      return std::nullopt;
    return std::string(text);  // cc1plus: fatal error: …, nvcc fatal : …
  }
  if (text.starts_with("ptxas ")) {
    const size_t semicolon = text.find("; error");
    if (semicolon != text.npos)
      if (auto what = after_error(text.substr(semicolon + 2))) return "in inline PTX: " + *what;
    for (const char* word : {"ptxas error", "ptxas fatal"})
      if (text.starts_with(word) && text.find("aborted due to errors") == text.npos)
        return "ptxas: " + trim(text.substr(text.find(':') + 1));
    return std::nullopt;
  }
  if (text.starts_with("nvcc error") || text.starts_with("nvcc fatal") || text.starts_with("nvlink error") ||
      text.starts_with("nvlink fatal"))
    return std::string(text);
  for (const char* word :
       {"undefined reference to ", "multiple definition of ", "undefined symbol: ", "cannot find -l"})
    if (const size_t at = text.find(word); at != text.npos) {
      std::string what(text.substr(at));
      if (const size_t more = what.find("; "); more != what.npos) what.resize(more);
      return "when linking: " + what;
    }
  return std::nullopt;
}

std::string cut(std::string line) {
  if (line.size() > longest_line) {
    line.resize(longest_line);
    line += "…";
  }
  return line;
}

}  // namespace

std::string shortened_errors(std::string_view output, std::string_view scratch) {
  std::vector<std::string> errors;
  std::set<std::string> seen;
  std::vector<std::string> plain;
  size_t context = most_context, count = 0;
  for (std::string line : split(output, '\n')) {
    for (size_t at; !scratch.empty() && (at = line.find(scratch)) != line.npos;)
      line.erase(at, scratch.size());
    if (trim(line).empty()) continue;
    if (plain.size() < most_lines) plain.push_back(cut(line));
    if (auto error = as_error(line)) {
      context = most_context;  // context of a repeated error is repeated, too
      if (seen.insert(*error).second && ++count <= most_errors) {
        errors.push_back(cut(*error));
        context = 0;
      }
    } else if (context < most_context && (line[0] == ' ' || line[0] == '\t')) {
      errors.push_back(cut(line));
      ++context;
    } else {
      context = most_context;
    }
  }
  if (errors.empty()) return join(plain, "\n");
  if (count > most_errors) errors.push_back(format("… and {} more", count - most_errors));
  return join(errors, "\n");
}

Error build_failure(std::string_view output, std::string_view scratch, int exit_code) {
  for (const char* sign :
       {"out of memory allocating", "virtual memory exhausted", "std::bad_alloc", "cannot allocate memory"})
    if (output.find(sign) != output.npos)
      return user_error("build_failed", "the compiler exceeded its memory limit",
                        "look for unbounded templates or constants");
  const bool killed = output.find("Killed signal terminated program") != output.npos ||
                      output.find("died due to signal 9") != output.npos;
  if (killed || exit_code == 128 + SIGKILL)
    return user_error(error_code::build_killed,
                      "the system killed the compiler, most likely for lack of memory",
                      "look for unbounded templates or constants");
  if (exit_code > 128 && shortened_errors(output, scratch).empty())
    return user_error("build_failed", format("the compiler was killed by signal {} ({})", exit_code - 128,
                                             ::strsignal(exit_code - 128)));
  std::string text = shortened_errors(output, scratch);
  if (text.empty()) text = format("the compiler ended with exit code {} and no message", exit_code);
  return user_error("build_failed", text);
}

Error build_took_too_long(double seconds) {
  return user_error("build_failed", format("the compiler was still running after {}", seconds_text(seconds)),
                    "look for unbounded templates or unrolled loops");
}

}  // namespace stitch::build
