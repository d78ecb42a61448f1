#include "build/build_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/digest/sha256.h"
#include "base/json.h"

namespace stitch::build {

namespace {

constexpr std::string_view record = "entry.json";  // written last; its mtime is the last use
constexpr std::string_view note_suffix = ".note";
constexpr time_t check_interval = 600, in_use = 3600;

Error cannot(std::string_view doing, const fs::path& path, const std::error_code& code) {
  return at(path.string(), work_error("cache", format("cannot {}: {}", doing, code.message()),
                                      "set STITCHCUDA_CACHE to a writable folder"));
}

void touch(const fs::path& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

time_t touched(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mtime : 0;
}

std::string unique() {
  static std::atomic<int> counter = 0;
  return format(".{}.{}.draft", ::getpid(), counter++);
}

}  // namespace

Result<BuildCache> BuildCache::open() { return open(cache_folder() / "build"); }

Result<BuildCache> BuildCache::open(const fs::path& folder, int64_t size_limit) {
  std::error_code failed;
  BuildCache cache;
  cache.folder_ = fs::absolute(folder, failed).lexically_normal();
  cache.size_limit_ = size_limit;
  fs::create_directories(cache.folder_, failed);
  if (failed) return cannot("make the cache folder", cache.folder_, failed);
  return cache;
}

fs::path BuildCache::folder_of(const std::string& key) const { return folder_ / key.substr(0, 2) / key; }

std::optional<CacheEntry> BuildCache::find(const std::string& key) const {
  const fs::path folder = folder_of(key);
  auto text = read_file(folder / record);
  if (!text) return std::nullopt;
  auto json = parse_json(*text);
  if (!json || !json->is_object()) return std::nullopt;
  CacheEntry entry;
  entry.file = folder / json->value("file", "");
  entry.hash = json->value("sha256", "");
  entry.notes = json->value("notes", "");
  auto hash = sha256_of_file(entry.file);
  if (!hash || *hash != entry.hash) return std::nullopt;
  touch(folder / record);
  return entry;
}

Result<CacheEntry> BuildCache::publish(const std::string& key, const fs::path& file, std::string_view name,
                                       std::string_view notes) const {
  const fs::path folder = folder_of(key);
  fs::path draft = folder;
  draft += unique();
  std::error_code failed, ignored;
  fs::create_directories(draft, failed);
  if (failed) return cannot("write to the cache", draft, failed);
  // The scratch folder may be on another file system.
  fs::rename(file, draft / name, failed);
  if (failed) fs::copy_file(file, draft / name, failed);
  auto give_up = [&](Error error) {
    fs::remove_all(draft, ignored);
    return error;
  };
  if (failed) return give_up(cannot("write to the cache", draft, failed));
  auto hash = sha256_of_file(draft / name);
  if (!hash) return give_up(std::move(hash).error());
  const Json json = {{"file", name}, {"sha256", *hash}, {"notes", notes}};
  if (auto written = write_file(draft / record, json.dump(1, ' ', false, Json::error_handler_t::replace));
      !written)
    return give_up(written.error());
  fs::rename(draft, folder, failed);
  if (failed) {
    // Another process was first, or there is a damaged entry.
    if (auto theirs = find(key)) {
      fs::remove_all(draft, ignored);
      return *theirs;
    }
    fs::path aside = folder;
    aside += unique();
    fs::rename(folder, aside, ignored);
    fs::rename(draft, folder, failed);
    fs::remove_all(aside, ignored);
    if (failed) return give_up(cannot("write to the cache", folder, failed));
  }
  return CacheEntry{folder / name, *hash, std::string(notes)};
}

void BuildCache::remember(const std::string& key, std::string_view note) const {
  fs::path path = folder_of(key);
  path += note_suffix;
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  (void)write_file(path, note);  // if this fails, something is only recompiled
}

std::optional<std::string> BuildCache::recall(const std::string& key) const {
  fs::path path = folder_of(key);
  path += note_suffix;
  auto note = read_file(path);
  if (!note) return std::nullopt;
  touch(path);
  return *std::move(note);
}

BuildCache::Lock BuildCache::lock(const std::string& key) const {
  fs::path path = folder_of(key);
  path += ".lock";
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  // Without the lock work is only done twice.
  while (descriptor >= 0 && ::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  return Lock(descriptor);
}

BuildCache::Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void BuildCache::trim() const {
  const fs::path stamp = folder_ / "trimmed";
  const time_t now = ::time(nullptr);
  if (now - touched(stamp) < check_interval) return;
  if (!write_file(stamp, "")) return;
  struct Item {
    fs::path path;
    time_t used;
    int64_t bytes;
  };
  std::vector<Item> items;
  int64_t total = 0;
  std::error_code ignored;
  for (const auto& shelf : fs::directory_iterator(folder_, ignored)) {
    if (!shelf.is_directory(ignored)) continue;
    for (const auto& place : fs::directory_iterator(shelf.path(), ignored)) {
      Item item{place.path(), touched(place.path() / record), 0};
      if (item.used == 0) item.used = touched(place.path());  // a lock, or a leftover of a killed build
      for (const auto& part : fs::directory_iterator(place.path(), ignored))
        item.bytes += static_cast<int64_t>(part.file_size(ignored));
      // Compiling one object never takes an hour.
      const bool leftover =
          place.path().extension() != note_suffix && !fs::exists(place.path() / record, ignored);
      if (leftover && now - item.used > in_use) {
        fs::remove_all(item.path, ignored);
        continue;
      }
      total += item.bytes;
      items.push_back(std::move(item));
    }
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.used < b.used; });
  // Trim below the limit, so that the next object doesn't trigger it again.
  for (const Item& item : items) {
    if (total <= size_limit_ - size_limit_ / 10 || now - item.used < in_use) break;
    fs::remove_all(item.path, ignored);
    total -= item.bytes;
  }
}

}  // namespace stitch::build
