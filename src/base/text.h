// Small text tools: numbers that read back exactly, quoting, joining, human units.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stitch {

std::string join(std::span<const std::string> parts, std::string_view separator);
std::string join(std::span<const int64_t> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string trim(std::string_view text);
std::string lower_case(std::string_view text);  // ASCII

// The shortest decimal that reads back as the same double; always with a '.', an 'e', inf or nan.
std::string number_text(double value);
std::optional<double> parse_number(std::string_view text);
std::optional<int64_t> parse_integer(std::string_view text);

// Two hexadecimal digits a byte, in lower case.
std::string hex_text(std::span<const uint8_t> bytes);

// A double-quoted string with JSON's escapes, and back.
std::string quote(std::string_view text);
std::optional<std::string> unquote(std::string_view quoted);

// 1.23 G, 45.6 k, 7: three significant digits with an SI prefix.
std::string si(double value, std::string_view unit = "");
// 1.50 GB, 12.0 kB (powers of 1000, as bandwidths are quoted).
std::string bytes_text(double bytes);
// 1.25 ms, 310 us.
std::string seconds_text(double seconds);
// The same of what a call of `whole` seconds gains or loses; empty below a thousandth of it.
std::string gain_text(double gain, double whole);

// The candidate nearest to `word` by edit distance (two letters swapped are one edit), of several the one of
// its length, if it is near at all: "did you mean …?"
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace stitch
