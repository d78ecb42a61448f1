#include "runner/ready.h"

#include <algorithm>
#include <chrono>

#include "base/machine/time_account.h"

namespace stitch::runner {

namespace {

// One: it holds a CUDA context, half a gigabyte of GPU memory (with PyTorch also a gigabyte of host memory),
// and processes that start CUDA at the same time delay each other: 2.4 s each instead of 1.0 with two or
// three ahead in eighteen tasks (H200).
constexpr size_t most_in_all = 1;
constexpr std::chrono::seconds patience{60}, longest_settling{5};

bool is_seeded(ThreadOrder order) { return order == ThreadOrder::shuffled || order == ThreadOrder::lagging; }

}  // namespace

bool same_kind(const Options& one, const Options& other) {
  return one.device == other.device && one.python == other.python && one.memory_limit == other.memory_limit &&
         one.order == other.order && (!is_seeded(one.order) || one.order_seed == other.order_seed) &&
         one.address_sanitizer == other.address_sanitizer && one.tool == other.tool &&
         one.profiler == other.profiler && one.readable == other.readable;
}

ReadyCandidates& ReadyCandidates::here() {
  (void)TimeAccount::all();  // constructed first, so that it outlives this
  static ReadyCandidates pool;
  return pool;
}

ReadyCandidates::~ReadyCandidates() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (starter_.joinable()) starter_.join();
}

bool ReadyCandidates::is_under_way(const Options& options) const {
  const auto same = [&](const Options& other) { return same_kind(options, other); };
  return std::ranges::any_of(wanted_, same) || std::ranges::any_of(waiting_, same, &Waiting::options) ||
         (starting_ && same(*starting_));
}

void ReadyCandidates::expect(const Options& options) {
  {
    std::lock_guard lock(mutex_);
    if (is_under_way(options)) return;
    wanted_.assign(1, options);  // replaces one not yet started
    if (!starter_.joinable()) starter_ = std::thread([this] { start_them(); });
  }
  changed_.notify_all();
}

std::optional<Candidate> ReadyCandidates::take(const Options& options) {
  std::unique_lock lock(mutex_);
  const auto same = [&](const Options& other) { return same_kind(options, other); };
  for (;;) {
    if (auto found = std::ranges::find_if(waiting_, same, &Waiting::options); found != waiting_.end()) {
      std::optional<Candidate> out(std::move(found->candidate));
      waiting_.erase(found);
      return out;
    }
    if (!starting_ || !same(*starting_) || is_awaited_) break;
    is_awaited_ = true;
    changed_.wait(lock);
    is_awaited_ = false;
  }
  // Queued behind others: the caller starts it sooner itself.
  if (auto queued = std::ranges::find_if(wanted_, same); queued != wanted_.end()) wanted_.erase(queued);
  return std::nullopt;
}

void ReadyCandidates::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest_settling, [&] { return (!starting_ && wanted_.empty()) || over_; });
}

// One after the other: the driver serialises start-up anyway.
void ReadyCandidates::start_them() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (wanted_.empty()) {
      if (waiting_.empty())
        changed_.wait(lock);
      else if (changed_.wait_for(lock, patience) == std::cv_status::timeout && wanted_.empty()) {
        std::list<Waiting> ended = std::exchange(waiting_, {});
        lock.unlock();
        ended.clear();
        lock.lock();
      }
      continue;
    }
    starting_ = std::move(wanted_.front());
    wanted_.pop_front();
    Options options = *starting_;
    options.given_up = &over_;
    std::list<Waiting> too_many;
    if (waiting_.size() >= most_in_all) too_many.splice(too_many.begin(), waiting_, waiting_.begin());
    lock.unlock();
    too_many.clear();
    auto started = Candidate::start_empty(options);
    lock.lock();
    // An error will recur, and be reported, when a process is requested.
    if (started) waiting_.push_back({*starting_, *std::move(started)});
    starting_.reset();
    changed_.notify_all();
  }
}

}  // namespace stitch::runner
