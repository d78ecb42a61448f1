#include "notes/note.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"

namespace stitch::notes {

namespace {

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& part : split(text, ','))
    if (std::string word = trim(part); !word.empty()) out.push_back(std::move(word));
  return out;
}

// Generations, as people call them. Blackwell is two instruction sets: tcgen05 is in sm_100 and sm_103 only.
const std::map<std::string, std::vector<std::string>, std::less<>>& generations() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> all = {
      {"ampere", {"sm_80", "sm_86"}},
      {"ada", {"sm_89"}},
      {"hopper", {"sm_90"}},
      {"blackwell", {"sm_100", "sm_103", "sm_120"}}};
  return all;
}

Result<std::vector<std::string>> architectures_of(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string& word : list_of(text)) {
    if (word == "all") return architectures();
    if (auto found = generations().find(word); found != generations().end()) {
      out.insert(out.end(), found->second.begin(), found->second.end());
      continue;
    }
    if (std::ranges::find(architectures(), word) == architectures().end())
      return user_error("note", format("applies to: unknown architecture '{}'", word),
                        "all, ampere, ada, hopper, blackwell, or any of: " + join(architectures(), ", "));
    out.push_back(word);
  }
  return out;
}

// `lines`: its heading, its fields up to an empty line, its text.
Result<Note> parse_note(const std::string& file, std::span<const std::string> lines) {
  const std::string& heading = lines[0];
  const size_t open = heading.rfind('('), close = heading.rfind(')');
  if (open == heading.npos || close == heading.npos || close < open + 2)
    return at(file, user_error("note", format("'{}' names no note", heading), "## Title (name)"));
  Note note{.name = trim(heading.substr(open + 1, close - open - 1)),
            .title = trim(heading.substr(3, open - 3))};
  const std::string place = file + ": " + note.name;
  auto wrong = [&](std::string message, std::string fix = "") {
    return at(place, user_error("note", std::move(message), std::move(fix)));
  };
  std::string applies_to = "all", tags;
  const std::map<std::string, std::string*, std::less<>> known = {
      {"applies to", &applies_to}, {"when", &note.when}, {"tags", &tags}, {"measured", &note.measured}};
  std::set<std::string> seen;
  auto line = lines.begin() + 1;
  for (; line != lines.end() && !trim(*line).empty(); ++line) {
    const size_t colon = line->find(':');
    if (colon == line->npos) return wrong(format("'{}' is not a field", *line), "name: value");
    const std::string field = trim(line->substr(0, colon));
    auto value = known.find(field);
    if (value == known.end())
      return wrong(format("unknown field '{}'", field), "applies to, when, tags, measured");
    if (!seen.insert(field).second) return wrong(format("duplicate field '{}'", field));
    *value->second = trim(line->substr(colon + 1));
  }
  note.tags = list_of(tags);
  for (const auto& [field, empty] :
       {std::pair("when", note.when.empty()), std::pair("tags", note.tags.empty())})
    if (empty) return wrong(format("the field '{}' is missing or empty", field));
  auto architectures = architectures_of(applies_to);
  if (!architectures) return at(place, std::move(architectures).error());
  if (architectures->empty()) return wrong("'applies to' must be a comma-separated list");
  note.applies_to = *std::move(architectures);
  note.body = trim(join(std::vector<std::string>(line, lines.end()), "\n"));
  if (note.body.empty()) return wrong("no text after the fields", "an empty line, then the text");
  return note;
}

}  // namespace

const std::vector<std::string>& architectures() {
  static const std::vector<std::string> all = {"sm_80",  "sm_86",  "sm_89", "sm_90",
                                               "sm_100", "sm_103", "sm_120"};
  return all;
}

Result<std::string> architecture_named(std::string_view word) {
  std::string text = lower_case(word);
  if (auto found = generations().find(text); found != generations().end()) return found->second.front();
  std::erase_if(text, [](char c) { return c == '.' || c == '_'; });
  if (text.starts_with("sm")) text = text.substr(2);
  while (!text.empty() && (text.back() == 'a' || text.back() == 'f')) text.pop_back();
  for (const std::string& known : architectures())
    if (known == "sm_" + text) return known;
  return user_error("architecture", format("unknown architecture '{}'", word),
                    "ampere, ada, hopper, blackwell, or one of: " + join(architectures(), ", "));
}

bool Note::applies(std::string_view architecture) const {
  return std::ranges::find(applies_to, architecture) != applies_to.end();
}

Result<std::vector<Note>> parse_notes(const std::string& file, std::string_view text) {
  const std::vector<std::string> lines = split(text, '\n');
  std::vector<size_t> headings;
  bool in_code = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    in_code ^= lines[i].starts_with("```");
    if (!in_code && lines[i].starts_with("## ")) headings.push_back(i);
  }
  if (headings.empty())
    return at(file, user_error("note", "there is no note in it",
                               "a note begins with a line '## Title (name)' and its fields"));
  headings.push_back(lines.size());
  std::vector<Note> notes;
  for (size_t i = 0; i + 1 < headings.size(); ++i) {
    STITCH_TRY(Note note,
               parse_note(file, std::span(lines).subspan(headings[i], headings[i + 1] - headings[i])));
    notes.push_back(std::move(note));
  }
  return notes;
}

std::string text_of(const Note& note) {
  const bool everywhere = note.applies_to == architectures();
  return format("## {} ({})\n{}when: {}\ntags: {}\n{}\n{}\n", note.title, note.name,
                everywhere ? "" : "applies to: " + join(note.applies_to, ", ") + "\n", note.when,
                join(note.tags, ", "), note.measured.empty() ? "" : "measured: " + note.measured + "\n",
                note.body);
}

}  // namespace stitch::notes
