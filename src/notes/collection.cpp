#include "notes/collection.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"

namespace stitch {
extern const std::span<const std::pair<std::string_view, std::string_view>> embedded_notes;
}

namespace stitch::notes {

namespace {

constexpr size_t most_files = 10'000;
constexpr uintmax_t most_file_bytes = 1 << 20;

}  // namespace

const Collection& built_in() {
  static const Collection all = [] {
    Collection notes;
    for (const auto& [name, text] : embedded_notes) {
      auto parsed = parse_notes(std::string(name), text);
      if (!parsed) throw Bug("notes/" + parsed.error().text());
      notes.insert(notes.end(), parsed->begin(), parsed->end());
    }
    std::ranges::sort(notes, {}, &Note::name);
    return notes;
  }();
  return all;
}

Result<Collection> with_folder(const fs::path& folder, Collection others) {
  std::error_code ec;
  if (!fs::is_directory(folder, ec))
    return at(folder.string(), user_error("notes", "no such folder of notes", "name a folder of .md files"));
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, ec))
    if (entry.path().extension() == ".md" && entry.path().stem() != "README" && entry.is_regular_file(ec))
      files.push_back(entry.path());
  if (files.size() > most_files)
    return at(folder.string(), user_error("notes", format("more than {} files of notes", most_files)));
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    if (fs::file_size(file, ec) > most_file_bytes)
      return at(file.string(), user_error("note", "too large for a file of notes"));
    STITCH_TRY(std::string text, read_file(file));
    auto notes = parse_notes(file.stem().string(), text);
    if (!notes) return within(folder.string(), std::move(notes).error());
    for (Note& note : *notes) {
      std::erase_if(others, [&](const Note& other) { return other.name == note.name; });
      others.push_back(std::move(note));
    }
  }
  std::ranges::sort(others, {}, &Note::name);
  return others;
}

Result<Note> find(const Collection& all, std::string_view name) {
  std::vector<std::string> names;
  for (const Note& note : all) {
    if (note.name == name || note.title == name) return note;
    names.push_back(note.name);
  }
  auto near = nearest(name, names);
  return user_error("note", format("unknown note '{}'", name),
                    near ? format("did you mean {}?", *near) : "all of them: stitchcuda notes --list");
}

}  // namespace stitch::notes
