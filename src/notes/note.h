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

#include "base/file.h"
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

// All notes that there are: those inside the program, and those of a user's folder.

using Collection = std::vector<Note>;  // by name

// Those of notes/ in the repository.
const Collection& built_in();
// Those of every .md file of a folder, on top of `others`; those of the same name are replaced.
Result<Collection> with_folder(const fs::path& folder, Collection others = built_in());
// By its name, else by its title; the error names the nearest.
Result<Note> find(const Collection& all, std::string_view name);

// Which notes a question is about: BM25 over their words, titles and tags counting more than text.

// Text as the words that a search compares: cp.async, wgmma, sm_90 and __launch_bounds__ are words.

// In lower case and without endings (coalesced and coalescing are one word). Names of CUDA come whole and in
// their parts: "cp.async.bulk" also as cp, async and bulk, "cudaGraphLaunch" as cuda, graph and launch.
std::vector<std::string> words_of(std::string_view text);

struct Hit {
  const Note* note;  // of the collection
  double score;
};

// The best first; none that shares no word with the question. architecture: empty means all.
std::vector<Hit> search(const Collection& all, std::string_view question, size_t most = 5,
                        std::string_view architecture = {});

}  // namespace stitch::notes
