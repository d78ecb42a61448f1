#include "sandbox/control_group.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/text.h"

namespace stitch::sandbox {

namespace {

constexpr std::string_view prefix = "stitch-";

bool has_word(const fs::path& file, std::string_view wanted) {
  auto text = read_file(file);
  const std::vector<std::string> words = split(trim(text ? *text : ""), ' ');
  return std::ranges::find(words, wanted) != words.end();
}

// Whether children get both controllers and this user may create them.
bool is_divided(const fs::path& group) {
  const fs::path control = group / "cgroup.subtree_control";
  return has_word(control, "memory") && has_word(control, "pids") && ::access(group.c_str(), W_OK) == 0;
}

bool write_word(const fs::path& file, const std::string& word) {
  FILE* out = std::fopen(file.c_str(), "w");
  if (!out) return false;
  const bool written = std::fwrite(word.data(), 1, word.size(), out) == word.size();
  return (std::fclose(out) == 0) && written;
}

// rmdir fails on groups that still have processes.
void remove_empty(const fs::path& place) {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(place, ignored))
    if (entry.path().filename().string().starts_with(prefix)) old.push_back(entry.path());
  for (const fs::path& group : old) ::rmdir(group.c_str());
}

}  // namespace

fs::path place_for_groups(const fs::path& membership, const fs::path& root) {
  constexpr std::string_view unified = "0::";
  std::error_code ignored;
  auto text = read_file(membership);
  if (!text || !fs::exists(root / "cgroup.controllers", ignored)) return {};
  for (const std::string& line : split(*text, '\n')) {
    if (!line.starts_with(unified)) continue;
    const fs::path own = (root / fs::path(line.substr(unified.size())).relative_path()).lexically_normal();
    if (is_divided(own)) return own;
    const fs::path around = own.parent_path();
    const bool inside = own != root && !around.lexically_relative(root).string().starts_with("..");
    if (inside && is_divided(around)) return around;
  }
  return {};
}

Result<fs::path> make_group(const fs::path& place, const GroupLimits& limits) {
  static std::atomic<int> next = 0;
  remove_empty(place);
  const fs::path group = place / format("{}{}-{}", prefix, ::getpid(), next++);
  std::error_code failed;
  fs::create_directory(group, failed);
  auto refuse = [&](std::string_view what) {
    ::rmdir(group.c_str());
    return work_error("sandbox", format("no control group below {}: {}", place.string(), what));
  };
  if (failed) return refuse(failed.message());
  if (limits.memory > 0) {
    if (!write_word(group / "memory.max", std::to_string(limits.memory))) return refuse("memory.max");
    (void)write_word(group / "memory.swap.max", "0");  // there may be no swap to limit
    (void)write_word(group / "memory.oom.group", "1");
  }
  if (limits.threads > 0 && !write_word(group / "pids.max", std::to_string(limits.threads)))
    return refuse("pids.max");
  return group;
}

bool join_group(const fs::path& group) { return write_word(group / "cgroup.procs", "0"); }

bool ran_out_of_memory(const fs::path& group) {
  auto events = read_file(group / "memory.events");
  for (const std::string& line : split(events ? *events : "", '\n'))
    if (line.starts_with("oom_kill ")) return parse_integer(trim(line.substr(9))).value_or(0) > 0;
  return false;
}

}  // namespace stitch::sandbox
