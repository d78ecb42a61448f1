// A technique note: what to do on a GPU, when, and its measured gain, if any. A file has the notes of one
// subject:
//   ## Coalesced global loads (coalesced-loads)
//   applies to: hopper, sm_80          (left out: all)
//   when: a kernel moves less than two thirds of the copy bandwidth
//   tags: memory, coalescing, sectors
//   measured: on an H200, …            (optional)
//
//   Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stitch::notes {

struct Note {
  std::string name;  // unique
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

// Those of a file, whose name errors begin with; text before the first one introduces them. Errors say which
// field.
Result<std::vector<Note>> parse_notes(const std::string& file, std::string_view text);
// One note as its file has it.
std::string text_of(const Note& note);

}  // namespace stitch::notes
