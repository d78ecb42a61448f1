#include "notes/note.h"

#include <algorithm>
#include <map>

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

struct Parts {
  std::map<std::string, std::string, std::less<>> fields;
  std::string body;
};

Result<Parts> parts_of(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  while (!lines.empty() && trim(lines.back()).empty()) lines.pop_back();
  if (std::ssize(lines) > most_lines)
    return user_error("note", format("{} lines, but a note has at most {}", lines.size(), most_lines));
  if (lines.empty() || trim(lines[0]) != "---")
    return user_error("note", "the header with the fields is missing", "the first line is ---");
  auto end =
      std::find_if(lines.begin() + 1, lines.end(), [](const auto& line) { return trim(line) == "---"; });
  if (end == lines.end()) return user_error("note", "the header is not closed", "a line of --- after them");
  Parts parts;
  for (auto line = lines.begin() + 1; line != end; ++line) {
    size_t colon = line->find(':');
    if (colon == std::string::npos)
      return user_error("note", format("'{}' is not a field", *line), "name: value");
    if (!parts.fields.emplace(trim(line->substr(0, colon)), trim(line->substr(colon + 1))).second)
      return user_error("note", format("duplicate field '{}'", trim(line->substr(0, colon))));
  }
  parts.body = trim(join(std::vector<std::string>(end + 1, lines.end()), "\n"));
  return parts;
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

Result<Note> parse_note(std::string name, std::string_view text) {
  auto parts = parts_of(text);
  if (!parts) return at(name, std::move(parts).error());
  Note note{.name = name};
  std::string applies_to, tags;
  const std::map<std::string, std::string*, std::less<>> known = {{"title", &note.title},
                                                                  {"applies to", &applies_to},
                                                                  {"when", &note.when},
                                                                  {"tags", &tags},
                                                                  {"measured", &note.measured}};
  for (auto& [field, value] : parts->fields) {
    auto place = known.find(field);
    if (place == known.end())
      return at(name, user_error("note", format("unknown field '{}'", field),
                                 "title, applies to, when, tags, measured"));
    *place->second = value;
  }
  for (const auto& [field, value] : known)
    if (value->empty() && field != "measured")
      return at(name, user_error("note", format("the field '{}' is missing or empty", field)));
  auto architectures = architectures_of(applies_to);
  if (!architectures) return at(name, std::move(architectures).error());
  note.applies_to = *std::move(architectures);
  note.tags = list_of(tags);
  if (note.applies_to.empty() || note.tags.empty())
    return at(name, user_error("note", "'applies to' and 'tags' must be comma-separated lists"));
  if (parts->body.empty()) return at(name, user_error("note", "no text after the header"));
  note.body = std::move(parts->body);
  return note;
}

std::string text_of(const Note& note) {
  const bool everywhere = note.applies_to == architectures();
  return format("---\ntitle: {}\napplies to: {}\nwhen: {}\ntags: {}\n{}---\n{}\n", note.title,
                everywhere ? "all" : join(note.applies_to, ", "), note.when, join(note.tags, ", "),
                note.measured.empty() ? "" : "measured: " + note.measured + "\n", note.body);
}

}  // namespace stitch::notes
