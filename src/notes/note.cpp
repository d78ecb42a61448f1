#include "notes/note.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
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

namespace stitch {

extern const std::span<const std::pair<std::string_view, std::string_view>> embedded_notes;

}  // namespace stitch

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

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)); }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)); }
bool joins(char c) { return c == '.' || c == '_' || c == '-'; }

// Endings that don't change what a word means here, the longest first, with what takes their place.
std::string stem(std::string word) {
  struct Ending {
    std::string_view text, instead;
  };
  static constexpr std::array<Ending, 29> endings = {
      {{"izations", "is"}, {"isations", "is"}, {"ization", "is"}, {"isation", "is"}, {"izing", "is"},
       {"ising", "is"},    {"ized", "is"},     {"ised", "is"},    {"izes", "is"},    {"ises", "is"},
       {"ations", ""},     {"ation", ""},      {"ating", ""},     {"ated", ""},      {"ates", ""},
       {"ize", "is"},      {"ise", "is"},      {"ate", ""},       {"ings", ""},      {"ions", ""},
       {"ing", ""},        {"ion", ""},        {"ies", "y"},      {"ed", ""},        {"es", ""},
       {"ly", ""},         {"er", ""},         {"s", ""},         {"e", ""}}};
  if (!std::ranges::all_of(word, is_letter) || word.ends_with("ss")) return word;
  for (const Ending& ending : endings) {
    if (!word.ends_with(ending.text) || word.size() < ending.text.size() + 3) continue;
    word.resize(word.size() - ending.text.size());
    word += ending.instead;
    break;
  }
  // padding, pad; stopping, stop; but wgmma has no ending to take off.
  const size_t n = word.size();
  if (n > 3 && word[n - 1] == word[n - 2] &&
      std::string_view("bdgmnprt").find(word[n - 1]) != std::string::npos)
    word.pop_back();
  return word;
}

void add(std::string word, std::vector<std::string>& out) {
  static constexpr std::array<std::string_view, 30> empty = {
      "a",   "an",   "and",  "are", "as",   "at", "be",   "by",   "can",  "do",
      "for", "from", "has",  "how", "in",   "is", "it",   "my",   "of",   "on",
      "or",  "so",   "that", "the", "this", "to", "what", "when", "with", "why"};
  if (word.size() < 2 || std::ranges::find(empty, word) != empty.end()) return;
  out.push_back(stem(std::move(word)));
}

// The parts between joints, and those of camelCase.
void add_parts(std::string_view token, std::vector<std::string>& out) {
  size_t begin = 0;
  auto cut = [&](size_t end) {
    if (end > begin && (begin > 0 || end < token.size()))
      add(lower_case(token.substr(begin, end - begin)), out);
  };
  for (size_t i = 0; i < token.size(); ++i) {
    if (joins(token[i])) {
      cut(i);
      begin = i + 1;
    } else if (i > begin && is_upper(token[i]) && !is_upper(token[i - 1]) && is_letter(token[i - 1])) {
      cut(i);
      begin = i;
    }
  }
  cut(token.size());
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (size_t i = 0; i < text.size();) {
    if (!is_letter(text[i]) && !is_digit(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) ||
                                 (joins(text[end]) && end + 1 < text.size() &&
                                  (is_letter(text[end + 1]) || is_digit(text[end + 1])))))
      ++end;
    const std::string_view token = text.substr(i, end - i);
    add(lower_case(token), out);
    add_parts(token, out);
    i = end;
  }
  return out;
}

namespace {

// Saturation and length as usual; notes are of about one length, so that it counts for less.
constexpr double k1 = 1.2, b = 0.5;

struct Indexed {
  std::map<std::string, double> counts;  // weighted
  double length = 0;
};

Indexed index(const Note& note) {
  Indexed out;
  auto add = [&](std::string_view text, double weight) {
    for (std::string& word : words_of(text)) {
      out.counts[std::move(word)] += weight;
      out.length += weight;
    }
  };
  std::string name = note.name;
  std::ranges::replace(name, '-', ' ');
  add(note.title, 4);
  add(name, 2);
  add(join(note.tags, " "), 3);
  add(note.when, 2);
  add(note.body, 1);
  return out;
}

}  // namespace

std::vector<Hit> search(const Collection& all, std::string_view question, size_t most,
                        std::string_view architecture) {
  std::vector<Indexed> indexed;
  std::map<std::string, int> notes_with;
  double length = 0;
  for (const Note& note : all) {
    indexed.push_back(index(note));
    length += indexed.back().length;
    for (const auto& [word, count] : indexed.back().counts) ++notes_with[word];
  }
  const double mean = all.empty() ? 1 : length / static_cast<double>(all.size());
  const std::vector<std::string> asked_words = words_of(question);
  const std::set<std::string> asked(asked_words.begin(), asked_words.end());

  std::vector<Hit> hits;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!architecture.empty() && !all[i].applies(architecture)) continue;
    double score = 0;
    for (const std::string& word : asked) {
      auto found = indexed[i].counts.find(word);
      if (found == indexed[i].counts.end()) continue;
      const double with = notes_with[word], without = static_cast<double>(all.size()) - with;
      const double rarity = std::log(1 + (without + 0.5) / (with + 0.5));
      score +=
          rarity * found->second * (k1 + 1) / (found->second + k1 * (1 - b + b * indexed[i].length / mean));
    }
    if (score > 0) hits.push_back({&all[i], score});
  }
  std::ranges::stable_sort(hits, std::ranges::greater{}, &Hit::score);
  if (hits.size() > most) hits.resize(most);
  return hits;
}

}  // namespace stitch::notes
