#include "serve/reward/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/digest/sha256.h"
#include "base/error_codes.h"

namespace stitch::serve {

namespace {

constexpr int64_t small_enough = int64_t{1} << 20;  // of accepted.jsonl

Error cannot(const char* what, const fs::path& file) {
  return at(file.string(), work_error("file", format("cannot be {}: {}", what, std::strerror(errno)),
                                      "check the folder's permissions and the free space"));
}

// One write: a line is there or not, unless the disk is full.
bool append(int descriptor, const std::string& line) {
  return ::write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const fs::path& folder,
                                               const std::function<void(const Json&)>& on_answer) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return at(folder.string(),
              work_error("file", format("the folder can't be created: {}", failed.message())));
  const fs::path whole = fs::weakly_canonical(folder, failed);
  STITCH_TRY(std::optional<FileLock> alone, FileLock::if_free("serve-" + sha256(whole.string())));
  if (!alone)
    return at(folder.string(), user_error(error_code::busy, "another service uses this folder",
                                          "stop it, or choose another folder with --state"));
  std::unique_ptr<Journal> out(new Journal(*std::move(alone)));
  STITCH_CHECK(out->read_answers(folder / "answers.jsonl", on_answer));
  STITCH_CHECK(out->read_accepted(folder / "accepted.jsonl"));
  return out;
}

Result<void> Journal::read_answers(const fs::path& file, const std::function<void(const Json&)>& on_answer) {
  {
    std::ifstream in(file, std::ios::binary);
    std::string line;
    while (std::getline(in, line)) {
      if (in.eof()) break;  // half a line of a process that was killed
      auto json = parse_json(line);
      const std::string key = json && json->is_object() ? word(*json, "key") : "";
      // A line may have been edited: it then has no answer.
      if (!key.empty() && json->contains("reward") && (*json)["reward"].is_number()) {
        places_[key] = {end_, static_cast<uint32_t>(line.size())};
        if (on_answer) on_answer(*json);
      }
      end_ += static_cast<int64_t>(line.size()) + 1;
    }
  }
  answers_ = Descriptor(::open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (answers_.get() < 0 || ::ftruncate(answers_.get(), end_) != 0) return cannot("written", file);
  return {};
}

Result<void> Journal::read_accepted(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  while (std::getline(in, line)) {
    auto json = parse_json(line);
    if (!json || !json->is_object() || !json->contains("payload")) continue;
    const std::string key = word(*json, "key");
    if (!key.empty() && !places_.contains(key))
      left_[key] = std::make_shared<const Json>(std::move((*json)["payload"]));
  }
  std::string kept;
  for (const auto& [key, payload] : left_) {
    kept += line_text({{"key", key}, {"payload", *payload}}) + '\n';
    open_.insert(key);
  }
  STITCH_CHECK(write_file(file, kept));
  accepted_bytes_ = static_cast<int64_t>(kept.size());
  accepted_ = Descriptor(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (accepted_.get() < 0) return cannot("written", file);
  return {};
}

std::shared_ptr<const Json> Journal::find(const std::string& key) const {
  std::lock_guard hold(mutex_);
  auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  std::string line(found->second.size, '\0');
  if (::pread(answers_.get(), line.data(), line.size(), found->second.begin) !=
      static_cast<ssize_t>(line.size()))
    return nullptr;
  auto json = parse_json(line);
  return json ? std::make_shared<const Json>(*std::move(json)) : nullptr;
}

Result<void> Journal::accept(const std::string& key, const Json& payload) {
  const std::string line = line_text({{"key", key}, {"payload", payload}}) + '\n';
  std::lock_guard hold(mutex_);
  if (open_.contains(key)) return {};
  if (!append(accepted_.get(), line)) return cannot("written", "accepted.jsonl");
  accepted_bytes_ += static_cast<int64_t>(line.size());
  open_.insert(key);
  return {};
}

Result<void> Journal::keep(const std::string& key, const Json& answer) {
  const std::string line = line_text(answer);
  std::lock_guard hold(mutex_);
  if (!append(answers_.get(), line + '\n')) {
    const Error failure = cannot("written", "answers.jsonl");
    // Half a line would be taken for the beginning of the next.
    [[maybe_unused]] const int cut = ::ftruncate(answers_.get(), end_);
    return failure;
  }
  places_[key] = {end_, static_cast<uint32_t>(line.size())};
  end_ += static_cast<int64_t>(line.size()) + 1;
  open_.erase(key);
  shrink();
  return {};
}

void Journal::drop(const std::string& key) {
  std::lock_guard hold(mutex_);
  open_.erase(key);
  shrink();
}

void Journal::shrink() {
  if (!open_.empty() || accepted_bytes_ < small_enough) return;
  if (::ftruncate(accepted_.get(), 0) == 0) accepted_bytes_ = 0;
}

size_t Journal::answers() const {
  std::lock_guard hold(mutex_);
  return places_.size();
}

}  // namespace stitch::serve
