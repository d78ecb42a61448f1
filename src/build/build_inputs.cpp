#include "build/build_inputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/digest/sha256.h"
#include "base/text.h"

namespace stitch::build {

namespace {

constexpr std::string_view between_records = "\n\n";
constexpr size_t most_records = 8;  // per key
constexpr std::string_view missing = "missing";

std::string digest(std::string_view kind, std::string_view key, std::string_view text = {}) {
  Sha256 sum;
  sum.add_field(kind);
  sum.add_field(key);
  sum.add_field(text);
  return sum.hex();
}

std::vector<std::string> records_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(between_records, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + between_records.size();
  }
  return out;
}

// By path and time, for system files.
std::string state_of_system_file(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::string(missing);
  return format("{}.{}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace

std::vector<std::string> files_in_rule(std::string_view rule) {
  std::vector<std::string> out;
  const size_t colon = rule.find(": ");
  if (colon == rule.npos) return out;
  std::string word;
  auto end_word = [&] {
    if (!word.empty()) out.push_back(std::exchange(word, {}));
  };
  for (size_t i = colon + 1; i < rule.size(); ++i) {
    const char c = rule[i], next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && (next == '\n' || next == '\r')) {
      end_word();
      ++i;
    } else if (c == '\\' && (next == ' ' || next == '#' || next == '\\')) {
      word += next;
      ++i;
    } else if (c == '$' && next == '$') {
      word += c;
      ++i;
    } else if (c == '\n') {
      break;  // the other rules are for make
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return out;
}

bool was_compiled(const fs::path& listed, const FilesRead& read) {
  return std::ranges::any_of(read, [&](const auto& file) {
    return listed.is_absolute() ? file.first == listed : file.first.filename() == listed.filename();
  });
}

BuildInputs::BuildInputs(std::vector<fs::path> folders, fs::path scratch)
    : folders_(std::move(folders)), scratch_(std::move(scratch)) {}

std::string BuildInputs::name_of(const fs::path& path) const {
  const fs::path whole = (path.is_absolute() ? path : scratch_ / path).lexically_normal();
  auto below = [&](const fs::path& folder) -> std::optional<std::string> {
    const fs::path relative = whole.lexically_relative(folder);
    if (relative.empty() || *relative.begin() == "..") return std::nullopt;
    return relative.generic_string();
  };
  if (below(scratch_)) return {};
  for (size_t i = 0; i < folders_.size(); ++i)
    if (auto relative = below(folders_[i])) return format("@{}/{}", i, *relative);
  return whole.string();
}

fs::path BuildInputs::path_of(std::string_view name) const {
  if (!name.starts_with('@')) return name;
  const size_t slash = name.find('/');
  const auto number = parse_integer(name.substr(1, slash == name.npos ? 0 : slash - 1));
  if (!number || *number < 0 || *number >= std::ssize(folders_)) return {};
  return folders_[static_cast<size_t>(*number)] / name.substr(slash + 1);
}

std::string BuildInputs::state_of(const std::string& name) const {
  const fs::path path = path_of(name);
  if (!name.starts_with('@')) return state_of_system_file(path);
  auto hash = sha256_of_file(path);
  return hash ? *hash : std::string(missing);
}

std::string BuildInputs::record(const FilesRead& read) const {
  std::map<std::string, std::string> states;
  for (const auto& [path, hash] : read)
    if (std::string name = name_of(path); !name.empty())
      states[name] = hash.empty() || !name.starts_with('@') ? state_of(name) : hash;
  std::vector<std::string> lines;
  for (const auto& [name, state] : states) lines.push_back(state + ' ' + name);
  return join(lines, "\n");
}

bool BuildInputs::still_so(std::string_view record) const {
  const std::vector<std::string> lines = split(record, '\n');
  return std::ranges::all_of(lines, [&](const std::string& line) {
    const size_t space = line.find(' ');
    return space != line.npos && line.substr(0, space) != missing &&
           state_of(line.substr(space + 1)) == line.substr(0, space);
  });
}

FilesRead BuildInputs::program_files(std::string_view record) const {
  FilesRead out;
  for (const std::string& line : split(record, '\n'))
    if (const size_t at = line.find(" @"); at != line.npos)
      out.emplace(path_of(line.substr(at + 1)), line.substr(0, at));
  return out;
}

std::optional<ObjectCache::Object> ObjectCache::find(const std::string& key) const {
  for (const std::string& record : records_of(cache_.recall(digest("read for", key)).value_or("")))
    if (inputs_.still_so(record))
      if (auto entry = cache_.find(digest("object", key, record)))
        return Object{*std::move(entry), inputs_.program_files(record)};
  return std::nullopt;
}

Result<ObjectCache::Object> ObjectCache::publish(const std::string& key, const fs::path& file,
                                                 std::string_view notes, const FilesRead& read) const {
  const std::string record = inputs_.record(read), about = digest("read for", key);
  STITCH_TRY(CacheEntry entry, cache_.publish(digest("object", key, record), file, "object.o", notes));
  std::vector<std::string> known = records_of(cache_.recall(about).value_or(""));
  std::erase(known, record);
  known.insert(known.begin(), record);
  known.resize(std::min(known.size(), most_records));
  cache_.remember(about, join(known, between_records));
  return Object{std::move(entry), inputs_.program_files(record)};
}

}  // namespace stitch::build
