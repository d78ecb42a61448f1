#include "serve/reward/open_tasks.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "base/contained.h"

namespace stitch::serve {

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
