// A technique note: what to do on a GPU, when, and its measured gain, if any.
//   ---
//   title: Coalesced global loads
//   applies to: all
//   when: a kernel moves less than two thirds of the copy bandwidth
//   tags: memory, coalescing, sectors
//   measured: on an H200, …            (optional)
//   ---
//   Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stitch::notes {

struct Note {
  std::string name;  // its file's, without .md
  std::string title;
  std::vector<std::string> applies_to;  // of architectures(); never empty
  std::string when;
  std::vector<std::string> tags;
  std::string measured;  // empty: not measured
  std::string body;

  bool applies(std::string_view architecture) const;
};

// sm_80 to sm_120, those that notes speak of.
const std::vector<std::string>& architectures();
// "sm_90a", "9.0", "hopper": the one of architectures() that is meant.
Result<std::string> architecture_named(std::string_view word);

inline constexpr int most_lines = 60;

// Errors say which field.
Result<Note> parse_note(std::string name, std::string_view text);
// The file again, as it would be written.
std::string text_of(const Note& note);

}  // namespace stitch::notes
