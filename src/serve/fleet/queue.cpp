#include "serve/fleet/queue.h"
#include "base/machine/time_account.h"

#include <algorithm>
#include <random>

namespace stitch::serve {

namespace {

constexpr auto look_for_lost_every = std::chrono::milliseconds(100);

}  // namespace

std::string lost_text(std::string_view worker, std::string_view work, int losses, int most) {
  return format("the worker {} stopped responding; {} {} (loss {} of {})", worker, work,
                losses < most ? "goes to another one" : "is given up", losses, most);
}

// A lease of an earlier process must not be taken for one of this.
WorkQueue::WorkQueue(QueueOptions options)
    : options_(std::move(options)), next_lease_((uint64_t{std::random_device{}()} << 20) + 1) {
  watcher_ = std::thread([this] { watch(); });
}

WorkQueue::~WorkQueue() {
  {
    std::lock_guard hold(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  ended_.notify_all();
  watcher_.join();
  for (Parked& each : parked_) each.taken(std::nullopt);
}

WorkQueue::Submitted WorkQueue::submit(const Work& work, Done done) {
  Lock lock(mutex_);
  auto found = items_.find(work.key);
  const bool fresh = found == items_.end();
  if (fresh) {
    if (SharedJson known = options_.recall ? options_.recall(work.key) : nullptr) {
      lock.unlock();
      if (done) done(known);
      return Submitted::known;
    }
    if (waiting_.size() >= options_.most_waiting) return Submitted::full;
    if (options_.accept && !options_.accept(work)) return Submitted::refused;
    found = items_.emplace(work.key, Item{.work = work}).first;
    waiting_.push_back(work.key);
    ++counts_.submitted;
  }
  if (done) found->second.attending.push_back(std::move(done));
  serve_parked(lock);
  changed_.notify_one();
  return fresh ? Submitted::queued : Submitted::joined;
}

bool WorkQueue::is_known(const std::string& key) const {
  std::lock_guard hold(mutex_);
  return items_.contains(key);
}

bool WorkQueue::attend(const std::string& key, Done done) {
  std::lock_guard hold(mutex_);
  auto found = items_.find(key);
  if (found == items_.end()) return false;
  found->second.attending.push_back(std::move(done));
  return true;
}

std::optional<size_t> WorkQueue::position(const std::string& key) const {
  std::lock_guard hold(mutex_);
  auto found = std::ranges::find(waiting_, key);
  if (found == waiting_.end()) return std::nullopt;
  return static_cast<size_t>(found - waiting_.begin());
}

std::optional<Lease> WorkQueue::next(const std::string& worker, Clock::time_point until) {
  if (waiting_.empty()) return std::nullopt;
  const std::string key = std::move(waiting_.front());
  waiting_.pop_front();
  Item& item = items_.at(key);
  item.lease = next_lease_++;
  leases_[item.lease] = {key, worker, until};
  return Lease{item.lease, item.work, seconds_since(item.submitted)};
}

std::optional<Lease> WorkQueue::take(std::chrono::milliseconds patience) {
  Lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return ending_ || !waiting_.empty(); });
  if (ending_) return std::nullopt;
  return next("", Clock::time_point::max());
}

void WorkQueue::take_later(const std::string& worker, std::chrono::milliseconds patience, Taken taken) {
  Lock lock(mutex_);
  if (ending_) {
    lock.unlock();
    taken(std::nullopt);
    return;
  }
  parked_.push_back({worker, Clock::now() + patience, std::move(taken)});
  serve_parked(lock);
}

// Callbacks run without the lock.
void WorkQueue::serve_parked(Lock& lock) {
  while (!parked_.empty() && !waiting_.empty()) {
    Parked first = std::move(parked_.front());
    parked_.pop_front();
    auto lease = next(first.worker, options_.lease_clock() + options_.lease_time);
    lock.unlock();
    if (lease && options_.on_leased) options_.on_leased(first.worker, lease->work);
    first.taken(std::move(lease));
    lock.lock();
  }
}

bool WorkQueue::renew(uint64_t lease) {
  std::lock_guard hold(mutex_);
  auto found = leases_.find(lease);
  if (found == leases_.end()) return false;
  found->second.until = options_.lease_clock() + options_.lease_time;
  return true;
}

bool WorkQueue::hand_in(uint64_t lease, const std::string& key, SharedJson result) {
  Lock lock(mutex_);
  auto held = leases_.find(lease);
  const bool of_another = held != leases_.end() && held->second.key != key;
  if (of_another || !items_.contains(key)) {
    ++counts_.twice;
    return false;
  }
  return finish(key, result, lock);
}

// Other leases of the same work become invalid.
bool WorkQueue::finish(const std::string& key, const SharedJson& result, Lock& lock) {
  auto found = items_.find(key);
  if (found == items_.end()) return false;
  if (options_.settle) options_.settle(found->second.work, result);
  std::vector<Done> attending = std::move(found->second.attending);
  if (found->second.lease != 0)
    leases_.erase(found->second.lease);
  else
    std::erase(waiting_, key);
  items_.erase(found);
  ++counts_.done;
  lock.unlock();
  for (const Done& done : attending) done(result);
  lock.lock();
  return true;
}

void WorkQueue::give_up(uint64_t lease) {
  Lock lock(mutex_);
  auto found = leases_.find(lease);
  if (found != leases_.end()) finish(std::string(found->second.key), options_.given_up, lock);
}

void WorkQueue::give_back(uint64_t lease) {
  Lock lock(mutex_);
  auto found = leases_.find(lease);
  if (found == leases_.end()) return;
  Item& item = items_.at(found->second.key);
  item.lease = 0;
  waiting_.push_front(found->second.key);
  leases_.erase(found);
  serve_parked(lock);
  changed_.notify_one();
}

void WorkQueue::watch() {
  Lock lock(mutex_);
  while (!ending_) {
    ended_.wait_for(lock, look_for_lost_every, [&] { return ending_; });
    const auto now = Clock::now(), lease_now = options_.lease_clock();
    std::vector<uint64_t> lost;
    for (const auto& [id, held] : leases_)
      if (held.until < lease_now) lost.push_back(id);
    for (const uint64_t id : lost) {
      auto held = leases_.find(id);
      if (held == leases_.end()) continue;  // handed in while others were told
      const std::string key = held->second.key, worker = held->second.worker;
      Item& item = items_.at(key);
      const Work work = item.work;
      leases_.erase(held);
      item.lease = 0;
      ++counts_.lost;
      waiting_.push_front(key);
      const int losses = ++item.losses;
      if (losses >= options_.most_losses) finish(key, options_.given_up, lock);
      if (!options_.on_lost) continue;
      lock.unlock();
      options_.on_lost(worker, work, losses);
      lock.lock();
    }
    if (!lost.empty()) {
      serve_parked(lock);
      changed_.notify_all();
    }
    std::vector<Parked> patient;
    for (auto at = parked_.begin(); at != parked_.end();) {
      if (at->until < now) {
        patient.push_back(std::move(*at));
        at = parked_.erase(at);
      } else {
        ++at;
      }
    }
    lock.unlock();
    for (Parked& each : patient) each.taken(std::nullopt);
    lock.lock();
  }
}

QueueCounts WorkQueue::counts() const {
  std::lock_guard hold(mutex_);
  QueueCounts out = counts_;
  out.waiting = waiting_.size();
  out.leased = leases_.size();
  return out;
}

std::map<std::string, int> WorkQueue::workers() const {
  std::lock_guard hold(mutex_);
  std::map<std::string, int> out;
  for (const auto& [id, held] : leases_)
    if (!held.worker.empty()) ++out[held.worker];
  return out;
}

}  // namespace stitch::serve
