#include "serve/reward/tasks.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <random>
#include <thread>

#include "base/contained.h"
#include "base/digest/sha256.h"
#include "base/text.h"
#include "import/import_all.h"

namespace stitch::serve {

namespace {

constexpr size_t most_bytes = size_t{4} << 20;  // of a task's files

// The first names behind `import` and `from`, line by line.
std::vector<std::string> imported(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string& line : split(text, '\n')) {
    const std::string statement = trim(line);
    for (const std::string_view keyword : {"import ", "from "}) {
      if (!statement.starts_with(keyword)) continue;
      std::string rest = statement.substr(keyword.size());
      if (keyword == "from ") rest = rest.substr(0, rest.find(" import"));
      for (const std::string& each : split(rest, ',')) {
        const std::string first = trim(each);
        const auto end =
            std::ranges::find_if(first, [](unsigned char c) { return !std::isalnum(c) && c != '_'; });
        if (end != first.begin()) out.emplace_back(first.begin(), end);
      }
    }
  }
  return out;
}

}  // namespace

Result<std::map<std::string, std::string>> files_of_task(const fs::path& file) {
  std::map<std::string, std::string> out;
  std::vector<std::string> todo = {file.filename().string()};
  size_t bytes = 0;
  while (!todo.empty()) {
    const std::string next = std::exchange(todo.back(), {});
    todo.pop_back();
    if (out.contains(next)) continue;
    STITCH_TRY(std::string text, read_file(file.parent_path() / next));
    bytes += text.size();
    if (bytes > most_bytes)
      return at(file.string(), user_error("too_large", "the task and its modules are larger than 4 MB"));
    for (const std::string& module : imported(text)) {
      std::error_code ec;
      if (fs::is_regular_file(file.parent_path() / (module + ".py"), ec)) todo.push_back(module + ".py");
    }
    out.emplace(next, std::move(text));
  }
  return out;
}

Result<std::unique_ptr<TaskShelf>> TaskShelf::open(const fs::path& folder) {
  STITCH_TRY(verifier::TaskIndex index, verifier::TaskIndex::of(folder));
  STITCH_TRY(std::vector<fs::path> files, verifier::tasks_below(folder));
  return std::unique_ptr<TaskShelf>(new TaskShelf(folder, std::move(index), std::move(files)));
}

Result<std::shared_ptr<const ShelvedTask>> TaskShelf::find(const std::string& name) {
  std::lock_guard hold(mutex_);
  auto known = known_.find(name);
  if (known == known_.end()) {
    STITCH_TRY(fs::path file, index_.find(name));
    known = known_.emplace(name, std::move(file)).first;
  }
  const fs::path& file = known->second;
  auto unchanged = [](const auto& one) {
    std::error_code ec;
    return fs::last_write_time(one.first, ec) == one.second && !ec;
  };
  if (auto kept = kept_.find(file);
      kept != kept_.end() && std::ranges::all_of(kept->second.written, unchanged))
    return kept->second.task;
  auto task = std::make_shared<ShelvedTask>();
  task->file = file;
  task->name = verifier::name_of_task(file.lexically_relative(fs::absolute(folder_).lexically_normal()))
                   .generic_string();
  STITCH_TRY(task->files, files_of_task(file));
  Sha256 sum;
  Kept now{task, {}};
  for (const auto& [path, text] : task->files) {
    std::error_code ec;
    now.written[file.parent_path() / path] = fs::last_write_time(file.parent_path() / path, ec);
    sum.add_field(path);
    sum.add_field(text);
  }
  task->hash = sum.hex();
  kept_[file] = std::move(now);
  return std::shared_ptr<const ShelvedTask>(std::move(task));
}

std::vector<std::string> TaskShelf::names() const {
  std::vector<std::string> out;
  const fs::path base = fs::absolute(folder_).lexically_normal();
  for (const fs::path& file : files_)
    out.push_back(verifier::name_of_task(fs::absolute(file).lexically_normal().lexically_relative(base))
                      .generic_string());
  return out;
}

namespace {

constexpr int most_judged = 100;    // by one set of secret questions: each verdict tells a bit of them
constexpr int64_t closed_for = 60;  // seconds until a task that can't be opened is tried again

int64_t now_in_seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::seconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

OpenTasks::Found OpenTasks::find(const std::string& name, const std::string& hash,
                                 const verifier::VerifyOptions& options) const {
  Found out;
  for (const std::shared_ptr<OpenTask>& each : tasks_) {
    if (each->name != name || each->hash != hash || each->retired) continue;
    if (!each->verifier)
      out.being_opened = true;
    else if (each->users == 0 || (!each->alone && each->verifier->side_by_side(options)))
      return {each};
  }
  return out;
}

Result<void> OpenTasks::open(OpenTask& task, const Opener& opener, const std::function<void()>& meanwhile) {
  std::thread beside(meanwhile);
  auto opened = contained(opener);
  beside.join();
  std::lock_guard hold(mutex_);
  opened_.notify_all();
  if (!opened) {
    task.retired = true;
    closed_.insert_or_assign(task.hash, std::pair(opened.error(), now_in_seconds()));
    return opened.error();
  }
  task.verifier = *std::move(opened);
  task.seed = uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  return {};
}

Result<std::shared_ptr<OpenTask>> OpenTasks::take(const std::string& name, const std::string& hash,
                                                  const verifier::VerifyOptions& options,
                                                  const Opener& opener,
                                                  const std::function<void()>& meanwhile) {
  bool idle = true;
  std::unique_lock lock(mutex_);
  while (true) {
    Found found = find(name, hash, options);
    if (found.task) {
      found.task->alone = !found.task->verifier->side_by_side(options);
      ++found.task->users;
      found.task->retired |= ++found.task->judged >= most_judged;
      return found.task;
    }
    if (auto closed = closed_.find(hash);
        closed != closed_.end() && now_in_seconds() - closed->second.second < closed_for)
      return closed->second.first;
    if (found.being_opened && !std::exchange(idle, false)) {
      opened_.wait(lock);
    } else if (found.being_opened) {
      lock.unlock();
      meanwhile();
      lock.lock();
    } else {
      auto fresh = std::make_shared<OpenTask>(OpenTask{.name = name, .hash = hash});
      tasks_.push_front(fresh);
      lock.unlock();
      auto opened = open(
          *fresh, opener, std::exchange(idle, false) ? meanwhile : [] {});
      lock.lock();
      if (!opened) tasks_.remove(fresh);
      if (!opened) return opened.error();
    }
  }
}

void OpenTasks::put_back(const std::shared_ptr<OpenTask>& task, bool still_good) {
  std::list<std::shared_ptr<OpenTask>> over;  // their processes end without the lock
  std::lock_guard hold(mutex_);
  --task->users;
  task->retired |= !still_good;
  if (auto at = std::ranges::find(tasks_, task); at != tasks_.end())
    tasks_.splice(tasks_.begin(), tasks_, at);
  for (auto at = tasks_.end(); at != tasks_.begin();) {
    const auto each = std::prev(at);
    const bool unused = (*each)->users == 0 && (*each)->verifier;
    if (unused && ((*each)->retired || tasks_.size() > most_))
      over.splice(over.end(), tasks_, each);
    else
      at = each;
  }
}

}  // namespace stitch::serve
