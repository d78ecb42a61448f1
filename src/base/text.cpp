#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/format.h"

namespace stitch {

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

std::string join(std::span<const int64_t> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += std::to_string(parts[i]);
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1)
    parts.emplace_back(text.substr(begin, end - begin));
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(space) - begin + 1));
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> parse_number(std::string_view text) {
  if (text == "nan") return std::nan("");
  if (text == "inf") return INFINITY;
  if (text == "-inf") return -INFINITY;
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string hex_text(std::span<const uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes) out += {digits[byte >> 4], digits[byte & 15]};
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += format("\\u{:04x}", static_cast<int>(c));
        else
          out += c;
    }
  }
  return out + '"';
}

std::optional<std::string> unquote(std::string_view quoted) {
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') return std::nullopt;
  std::string_view body = quoted.substr(1, quoted.size() - 2);
  std::string out;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '"') return std::nullopt;
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    if (++i == body.size()) return std::nullopt;
    switch (body[i]) {
      case '"': out += '"'; break;
      case '\\': out += '\\'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u': {
        if (i + 4 >= body.size()) return std::nullopt;
        int code = 0;
        auto digits = body.substr(i + 1, 4);
        auto [end, error] = std::from_chars(digits.data(), digits.data() + 4, code, 16);
        if (error != std::errc{} || end != digits.data() + 4 || code >= 0x20) return std::nullopt;
        out += static_cast<char>(code);
        i += 4;
        break;
      }
      default: return std::nullopt;
    }
  }
  return out;
}

namespace {
std::string scaled(double value, std::string_view unit, std::string_view prefixes) {
  size_t step = 0;
  double magnitude = std::abs(value);
  while (magnitude >= 999.5 && step < prefixes.size()) {
    magnitude /= 1000;
    value /= 1000;
    ++step;
  }
  int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  if (step == 0 && value == std::floor(value)) decimals = 0;
  std::string out = format("{:.{}f}", value, decimals);
  if (step || !unit.empty()) out += ' ';
  if (step) out += prefixes[step - 1];
  return out += unit;
}
}  // namespace

std::string si(double value, std::string_view unit) { return scaled(value, unit, "kMGTPE"); }

std::string bytes_text(double bytes) { return scaled(bytes, "B", "kMGTPE"); }

std::string seconds_text(double seconds) {
  if (seconds < 0) return "−" + seconds_text(-seconds);
  if (seconds == 0) return "0 us";
  if (seconds < 1e-3) return format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return format("{:.3g} ms", seconds * 1e3);
  if (seconds < 999.5) return format("{:.3g} s", seconds);
  return seconds < 3600 ? format("{:.0f} min", seconds / 60) : format("{:.3g} h", seconds / 3600);
}

std::string gain_text(double gain, double whole) {
  return std::abs(gain) <= 1e-3 * whole ? "" : seconds_text(gain);
}

namespace {

// With swaps of neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  std::pair<size_t, bool> smallest(word.size() / 3 + 2, false);  // distance, another length
  for (const std::string& candidate : candidates) {
    const std::pair distance(edit_distance(word, candidate), candidate.size() != word.size());
    if (distance >= smallest) continue;
    smallest = distance;
    best = &candidate;
  }
  return best ? std::optional(*best) : std::nullopt;
}

}  // namespace stitch
