#include "build/build_sources.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <set>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "sandbox/sandbox.h"

namespace stitch::build {

namespace {

constexpr uintmax_t largest_source = 64 << 20;

// The length of a raw string R"x(…)x" with its prefix; 0 if none starts here.
size_t raw_string_at(std::string_view text, size_t at) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (at > 0 && in_word(text[at - 1])) return 0;
  for (std::string_view prefix : {"R\"", "LR\"", "uR\"", "UR\"", "u8R\""}) {
    if (!text.substr(at).starts_with(prefix)) continue;
    const size_t open = text.find('(', at + prefix.size());
    if (open == text.npos || open - at - prefix.size() > 16) return 0;
    const std::string end = format("){}\"", text.substr(at + prefix.size(), open - at - prefix.size()));
    const size_t close = text.find(end, open);
    return (close == text.npos ? text.size() : close + end.size()) - at;
  }
  return 0;
}

// Without comments, continued lines joined; line numbers stay.
std::string without_comments(std::string_view text) {
  std::string out;
  std::string owed;  // newlines that belong after the current line
  for (size_t i = 0; i < text.size(); ++i) {
    auto at = [&](std::string_view word) { return text.substr(i, word.size()) == word; };
    if (at("\\\n") || at("\\\r\n")) {
      i += text[i + 1] == '\r' ? 2 : 1;
      owed += '\n';
    } else if (at("//")) {
      while (i < text.size() && text[i] != '\n') ++i;
      --i;
    } else if (at("/*")) {
      const size_t end = std::min(text.find("*/", i + 2), text.size());
      owed.append(static_cast<size_t>(std::count(text.begin() + static_cast<ptrdiff_t>(i),
                                                 text.begin() + static_cast<ptrdiff_t>(end), '\n')),
                  '\n');
      out += ' ';
      i = end + 1;
    } else if (const size_t length = raw_string_at(text, i)) {
      // Its contents are not code, but its lines count.
      owed.append(static_cast<size_t>(std::ranges::count(text.substr(i, length), '\n')), '\n');
      out += "\"\"";
      i += length - 1;
    } else if (text[i] == '"' || text[i] == '\'') {
      const char quote = text[i];
      out += text[i];
      // Up to the end of the line: an apostrophe may also be a digit separator.
      for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) {
        out += text[i];
        if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '\n') out += text[++i];
      }
      if (i < text.size() && text[i] == '\n')
        --i;
      else if (i < text.size())
        out += quote;
    } else {
      out += text[i];
      if (text[i] == '\n') out += std::exchange(owed, {});
    }
  }
  return out;
}

std::string_view skip_blanks(std::string_view text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
  return text;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text = skip_blanks(text.substr(word.size()));
  return true;
}

bool below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

fs::path real(const fs::path& path) {
  std::error_code ignored;
  fs::path out = fs::weakly_canonical(path, ignored);
  return out.empty() ? path : out;
}

}  // namespace

SourceReader::SourceReader(const std::vector<fs::path>& sources, std::vector<fs::path> include_dirs)
    : include_dirs_(std::move(include_dirs)) {
  for (const fs::path& source : sources) folders_.push_back(real(fs::absolute(source).parent_path()));
  for (fs::path& folder : include_dirs_) folders_.push_back(folder = real(fs::absolute(folder)));
  std::sort(folders_.begin(), folders_.end());
  folders_.erase(std::unique(folders_.begin(), folders_.end()), folders_.end());
}

std::vector<fs::path> SourceReader::seen() const {
  std::vector<fs::path> out = include_dirs_;
  for (const auto& [path, file] : files_) out.push_back(path);
  return out;
}

bool SourceReader::inside(const fs::path& path) const {
  const fs::path place = real(path);
  return std::any_of(folders_.begin(), folders_.end(),
                     [&](const fs::path& folder) { return below(place, folder); });
}

std::vector<SourceReader::Include> SourceReader::includes_of(std::string_view text) {
  std::vector<Include> out;
  int number = 0;
  auto add = [&](std::string_view rest) {
    Include include{"", number, rest.starts_with('"'), false};
    const size_t end = rest.empty() ? rest.npos : rest.find(rest[0] == '<' ? '>' : '"', 1);
    if (!rest.empty() && (rest[0] == '"' || rest[0] == '<') && end != rest.npos)
      include.name = rest.substr(1, end - 1);
    else
      include.computed = true;
    out.push_back(std::move(include));
  };
  for (const std::string& line : split(without_comments(text), '\n')) {
    ++number;
    std::string_view rest = skip_blanks(line);
    if (take(rest, "#") || take(rest, "%:"))
      for (std::string_view word : {"include_next", "include", "import", "embed"})
        if (take(rest, word)) {
          add(rest);
          break;
        }
    for (size_t at = line.find("__has_include"); at != line.npos; at = line.find("__has_include", at + 1)) {
      // With an alias or a macro as argument it could be any file.
      const size_t open = line.find('(', at);
      add(open == line.npos ? std::string_view() : skip_blanks(std::string_view(line).substr(open + 1)));
    }
  }
  return out;
}

Result<const SourceReader::File*> SourceReader::read(const fs::path& path) {
  auto found = files_.find(path);
  if (found != files_.end()) return &found->second;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) > largest_source)
    return at(path.string(), user_error("build_failed", "is too large for a source file"));
  STITCH_TRY(std::string text, read_file(path));
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  const std::string_view code =
      std::string_view(text).substr(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
  File file{sha256(text), includes_of(code), ""};
  if (text.find("incbin") != text.npos) file.embeds = "incbin";
  return &files_.emplace(path, std::move(file)).first->second;
}

std::optional<fs::path> SourceReader::resolve(const Include& include, const fs::path& beside) const {
  std::error_code ignored;
  if (include.quoted && fs::exists(beside / include.name, ignored)) return beside / include.name;
  for (const fs::path& folder : include_dirs_)
    if (fs::exists(folder / include.name, ignored)) return folder / include.name;
  return std::nullopt;
}

std::string SourceReader::hash_everything() const {
  constexpr int most = 5000;
  Sha256 sum;
  int count = 0;
  std::error_code ignored;
  for (const fs::path& folder : folders_) {
    std::set<fs::path> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
      if (++count > most) break;
      if (entry.is_regular_file(ignored)) paths.insert(entry.path());
    }
    for (const fs::path& path : paths) {
      sum.add_field(path.lexically_relative(folder).string());
      sum.add_field(sha256_of_file(path) ? *sha256_of_file(path) : "unreadable");
    }
  }
  return sum.hex();
}

Result<std::string> SourceReader::hash(const fs::path& source) {
  const bool file_wall = sandbox::keeps_files_apart();
  Sha256 sum;
  std::set<fs::path> seen;
  std::deque<std::pair<fs::path, std::string>> todo = {
      {fs::absolute(source).lexically_normal(), source.string()}};
  if (!inside(todo.front().first))
    return at(source.string(), user_error("build_failed", "is a link out of the program's folder"));
  while (!todo.empty()) {
    const auto [path, shown] = todo.front();
    todo.pop_front();
    if (!seen.insert(path).second) continue;
    STITCH_TRY(const File* file, read(path));
    sum.add_field(file->digest);
    if (!file_wall && !file->embeds.empty())
      return at(shown, user_error("build_failed", format("has the word '{}', and nothing on this machine "
                                                         "keeps the assembler from files outside the program",
                                                         file->embeds)));
    for (const Include& include : file->includes) {
      const std::string where = format("{}:{}", shown, include.line);
      sum.add_field(include.name);
      if (include.computed) {
        if (!file_wall)
          return at(where,
                    user_error("build_failed", "an #include whose file a macro names is not allowed here"));
        sum.add_field(hash_everything());
        continue;
      }
      const fs::path spelt = include.name;
      const std::optional<fs::path> found = resolve(include, path.parent_path());
      if (!found && !spelt.is_absolute())
        continue;  // a compiler header, or missing: the compiler will report it
      const fs::path target = spelt.is_absolute() ? spelt : *found;
      if (!inside(target))
        return at(where,
                  user_error("build_failed",
                             format("includes {}, which is outside of the program", quote(include.name)),
                             "a program includes its own files and the compiler's headers only"));
      todo.emplace_back(target.lexically_normal(), target.lexically_normal().string());
    }
  }
  return sum.hex();
}

}  // namespace stitch::build
