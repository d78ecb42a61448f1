#include "base/output_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/text.h"

namespace stitch {

namespace {

constexpr const char* record_file = ".stitchcuda";
constexpr size_t most_named = 3;

// Of a large file its size and three pieces: a whole hash of gigabytes of weights would take longer than
// writing them.
Result<std::string> fingerprint(const fs::path& file) {
  STITCH_TRY(MappedFile mapped, MappedFile::open(file));
  std::string_view bytes(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  constexpr size_t large = 64 << 20, piece = 1 << 20;
  if (bytes.size() <= large) return sha256(bytes);
  Sha256 sum;
  sum.add_field(std::to_string(bytes.size()));
  for (size_t from : {size_t{0}, bytes.size() / 2, bytes.size() - piece}) sum.add(bytes.substr(from, piece));
  return "pieces:" + sum.hex();
}

struct Contents {
  std::vector<std::string> files;    // ours, as we wrote them
  std::vector<std::string> edited;   // ours, changed since
  std::vector<std::string> foreign;  // not written by stitchcuda
  std::vector<std::string> caches;   // Python's, which it makes again
};

Contents look_into(const fs::path& folder, const FolderRecord& record) {
  Contents out;
  std::error_code ec;
  for (auto at = fs::recursive_directory_iterator(folder, ec); at != fs::recursive_directory_iterator();
       at.increment(ec)) {
    if (ec) break;
    const fs::path relative = at->path().lexically_relative(folder);
    const std::string name = relative.generic_string();
    if (name == record_file || (at->is_directory(ec) && !at->is_symlink(ec))) continue;
    auto recorded = record.files.find(name);
    if (std::ranges::find(relative, fs::path("__pycache__")) != relative.end())
      out.caches.push_back(name);
    else if (recorded == record.files.end())
      out.foreign.push_back(name);
    else if (auto now = fingerprint(at->path()); !at->is_symlink(ec) && now && *now == recorded->second)
      out.files.push_back(name);
    else
      out.edited.push_back(name);
  }
  for (auto* list : {&out.files, &out.edited, &out.foreign, &out.caches}) std::ranges::sort(*list);
  return out;
}

std::string some_of(std::vector<std::string> names) {
  const size_t more = names.size() > most_named ? names.size() - most_named : 0;
  if (more > 0) names.resize(most_named);
  return join(names, ", ") + (more > 0 ? format(" and {} more", more) : "");
}

fs::path cleaned(const fs::path& path) {
  std::error_code ec;
  fs::path clean = fs::absolute(path, ec).lexically_normal();
  return clean.has_filename() ? clean : clean.parent_path();
}

// The nearest folder above that exists has to take a new entry.
Result<void> check_writable_above(const fs::path& target) {
  fs::path above = cleaned(target).parent_path();
  std::error_code ec;
  while (!fs::exists(above, ec) && above.has_relative_path()) above = above.parent_path();
  if (!fs::is_directory(above, ec))
    return at(target.string(), user_error("file", format("{} is a file, not a folder", above.string()),
                                          "name another folder"));
  if (const std::error_code trouble = try_writing_below(above)) {
    // /proc and its like: the folder is there, and a name in it can't be made.
    const bool takes_none = trouble == std::errc::no_such_file_or_directory;
    return at(target.string(),
              user_error("file",
                         format("cannot write into {}: {}", above.string(),
                                takes_none ? "its file system takes no new files" : trouble.message()),
                         "name a folder with write permission"));
  }
  return {};
}

Error in_the_way(const fs::path& target, std::string what) {
  return at(target.string(), user_error("exists", std::move(what),
                                        "name another folder, or add --force: it keeps files of yours, and "
                                        "saves edited ones as NAME.edited"));
}

// NAME.edited, or the next name that is free.
std::string free_name(const fs::path& folder, const std::string& name) {
  std::error_code ec;
  std::string out = name + ".edited";
  for (int i = 2; fs::exists(fs::symlink_status(folder / out, ec)); ++i)
    out = format("{}.edited.{}", name, i);
  return out;
}

// By a link where the file system has them: others' files may be large.
Result<void> carry(const fs::path& from, const fs::path& to) {
  std::error_code ec;
  fs::create_directories(to.parent_path(), ec);
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0) == 0) return {};
  fs::copy(from, to, fs::copy_options::copy_symlinks, ec);
  if (ec) return at(from.string(), work_error("file", format("cannot be kept: {}", ec.message())));
  return {};
}

Json record_json(const FolderRecord& record) {
  return {
      {"about", "what stitchcuda wrote into this folder: files that differ, or are not listed, are yours"},
      {"facts", record.facts},
      {"files", record.files}};
}

}  // namespace

std::optional<FolderRecord> read_record(const fs::path& folder) {
  auto text = read_file(folder / record_file);
  auto json = text ? parse_json(*text) : Result<Json>(text.error());
  if (!json || !json->is_object()) return std::nullopt;
  auto texts = [&](const char* key) {
    std::map<std::string, std::string> out;
    const Json object = json->value(key, Json::object());
    for (const auto& [name, value] : object.items())
      if (value.is_string()) out[name] = value.get<std::string>();
    return out;
  };
  return FolderRecord{texts("files"), texts("facts")};
}

std::vector<std::string> edited_files(const fs::path& folder) {
  std::vector<std::string> out;
  const FolderRecord record = read_record(folder).value_or(FolderRecord());
  for (const auto& [name, print] : record.files)
    if (auto now = fingerprint(folder / name); now && *now != print) out.push_back(name);
  return out;
}

Result<void> OutputFolder::check(const fs::path& target, Overwrite overwrite) {
  STITCH_CHECK(check_writable_above(target));
  const fs::path clean = cleaned(target);
  std::error_code ec;
  if (!fs::exists(clean, ec)) return {};
  if (!fs::is_directory(clean, ec))
    return at(target.string(), user_error("exists", "is a file, not a folder", "name another folder"));
  if (::access(clean.c_str(), R_OK | W_OK | X_OK) != 0)
    return at(target.string(), user_error("file", format("cannot write into it: {}", std::strerror(errno)),
                                          "name a folder with write permission"));
  if (fs::is_empty(clean, ec)) return {};
  const fs::path here = fs::current_path(ec).lexically_relative(clean);
  if (!here.empty() && *here.begin() != "..")
    return at(target.string(), user_error("exists", "is the current folder, and would be replaced",
                                          "name another folder, or run this from outside"));
  if (overwrite == Overwrite::force) return {};
  std::optional<FolderRecord> record = read_record(clean);
  if (!record) return in_the_way(target, "is not empty, and not a folder that stitchcuda wrote");
  const Contents found = look_into(clean, *record);
  if (!found.edited.empty())
    return in_the_way(target, format("holds files that were edited since: {}", some_of(found.edited)));
  if (!found.foreign.empty())
    return in_the_way(target,
                      format("holds files that stitchcuda did not write: {}", some_of(found.foreign)));
  return {};
}

Result<OutputFolder> OutputFolder::create(const fs::path& target, Overwrite overwrite) {
  STITCH_CHECK(check(target, overwrite));
  OutputFolder out;
  out.target_ = cleaned(target);
  out.overwrite_ = overwrite;
  STITCH_TRY(out.draft_, make_draft_beside(out.target_));
  return out;
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : target_(std::exchange(other.target_, {})),
      draft_(std::exchange(other.draft_, {})),
      overwrite_(other.overwrite_),
      record_(std::move(other.record_)) {}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (draft_.empty()) return;
  fs::remove_all(draft_, ignored);
  keep_if_interrupted(draft_);
}

Result<void> OutputFolder::write_record() {
  std::error_code ec;
  for (const auto& entry : fs::recursive_directory_iterator(draft_, ec))
    if (entry.is_regular_file(ec)) {
      STITCH_TRY(record_.files[entry.path().lexically_relative(draft_).generic_string()],
                 fingerprint(entry.path()));
    }
  return write_file(draft_ / record_file, record_json(record_).dump(1) + "\n");
}

// Into the draft, so that one rename publishes everything.
Result<std::vector<std::string>> OutputFolder::keep_what_others_wrote() {
  std::vector<std::string> saved;
  const Contents found = look_into(target_, read_record(target_).value_or(FolderRecord()));
  auto save = [&](const std::string& name) -> Result<void> {
    const std::string other = free_name(draft_, name);
    saved.push_back(format("{} is now {}", name, other));
    return carry(target_ / name, draft_ / other);
  };
  // An old region that is no longer included would still be compiled under its name.
  for (const std::string& name : found.edited) STITCH_CHECK(save(name));
  for (const auto* list : {&found.foreign, &found.caches})
    for (const std::string& name : *list) {
      std::error_code ec;
      const bool ours_too = fs::exists(fs::symlink_status(draft_ / name, ec));
      auto theirs = fingerprint(target_ / name);
      if (ours_too && theirs && *theirs == record_.files[name]) continue;
      STITCH_CHECK(ours_too || name.ends_with(".cu") ? save(name) : carry(target_ / name, draft_ / name));
    }
  return saved;
}

Result<void> OutputFolder::put_into_place() {
  std::error_code ec;
  auto failed = [&](int code) {
    return at(target_.string(), work_error("file", format("cannot publish: {}", std::strerror(code))));
  };
  if (!fs::exists(target_, ec)) {
    if (::rename(draft_.c_str(), target_.c_str()) != 0) return failed(errno);
  } else if (::renameat2(AT_FDCWD, draft_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(draft_, ec);  // the old one, which lies there now
  } else {
    // Without an exchange there is a moment without a folder: make_draft_beside brings back what a kill
    // leaves aside.
    fs::path aside = draft_;
    aside.replace_extension(".old");
    if (::rename(target_.c_str(), aside.c_str()) != 0) return failed(errno);
    if (::rename(draft_.c_str(), target_.c_str()) != 0) {
      const int code = errno;
      fs::rename(aside, target_, ec);
      return failed(code);
    }
    fs::remove_all(aside, ec);
  }
  keep_if_interrupted(draft_);
  draft_.clear();
  return {};
}

Result<Published> OutputFolder::publish() {
  if (auto still = check(target_, overwrite_); !still) return publish_beside(still.error().message);
  STITCH_CHECK(write_record());
  Published out{.folder = target_};
  std::error_code ec;
  if (fs::exists(target_, ec)) {
    STITCH_TRY(out.saved, keep_what_others_wrote());
  }
  STITCH_CHECK(put_into_place());
  return out;
}

Result<Published> OutputFolder::publish_beside(std::string reason) {
  STITCH_CHECK(write_record());
  target_ = free_place_beside(target_);
  STITCH_CHECK(put_into_place());
  return Published{target_, std::move(reason), {}};
}

fs::path free_place_beside(const fs::path& folder) {
  std::error_code ec;
  fs::path out = cleaned(folder);
  const std::string first = out.string();
  for (int i = 2; fs::exists(out, ec); ++i) out = format("{}-{}", first, i);
  return out;
}

Result<void> add_to_record(const fs::path& folder, const std::string& file) {
  FolderRecord record = read_record(folder).value_or(FolderRecord());
  STITCH_TRY(record.files[file], fingerprint(folder / file));
  return write_file(folder / record_file, record_json(record).dump(1) + "\n");
}

namespace {

fs::path memory_of(const fs::path& file) {
  return cache_folder() / "written" / sha256(cleaned(file).string());
}

bool as_we_left_it(const fs::path& file) {
  auto then = read_file(memory_of(file));
  auto now = fingerprint(file);
  return then && now && *then == *now;
}

}  // namespace

Result<void> check_output_file(const fs::path& file, Overwrite overwrite) {
  STITCH_CHECK(check_writable_above(file));
  std::error_code ec;
  if (!fs::exists(file, ec)) return {};
  if (fs::is_directory(file, ec))
    return at(file.string(), user_error("exists", "is a folder, not a file", "name a file"));
  if (overwrite == Overwrite::force || !fs::is_regular_file(file, ec) || fs::is_empty(file, ec)) return {};
  if (as_we_left_it(file)) return {};
  return at(file.string(),
            user_error("exists", "already exists, and was not written by stitchcuda or was edited since",
                       "name another file, or add --force to replace it"));
}

// Where it can't be remembered, the next run asks for --force.
void remember_output_file(const fs::path& file) {
  const fs::path memory = memory_of(file);
  std::error_code ec;
  fs::create_directories(memory.parent_path(), ec);
  if (auto print = fingerprint(file)) (void)write_file(memory, *print);
}

Result<void> write_output_file(const fs::path& file, std::string_view content, Overwrite overwrite) {
  STITCH_CHECK(check_output_file(file, overwrite));
  std::error_code ec;
  fs::create_directories(cleaned(file).parent_path(), ec);
  if (fs::exists(file, ec) && !fs::is_regular_file(file, ec)) {  // a pipe, a device: nothing to rename over
    std::ofstream stream(file);
    stream << content << std::flush;
    if (stream) return {};
    return at(file.string(), work_error("file", "cannot write"));
  }
  STITCH_CHECK(write_file(file, content));
  remember_output_file(file);
  return {};
}

}  // namespace stitch
