#include "gpu/gpu_lock.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/machine/time_account.h"
#include "base/terminal/terminal.h"

namespace stitch {

namespace {

std::atomic<int> held_alone = 0;  // exclusive locks of this process

// Shared locks by thread: held by requests, and kept between them by a visit. An idle visit might be blocking
// an exclusive user that its own thread waits for, so it is released after 100 ms.
class Visits {
 public:
  struct Visit {
    Visit() { all().add(this); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() { all().remove(this); }
    int depth = 0, requests = 0;
    std::optional<FileLock> room;
    std::chrono::steady_clock::time_point since, last_used;
  };
  static Visit& mine() {
    thread_local Visit visit;
    return visit;
  }
  static Visits& all() {  // never destroyed: threads may outlive statics
    static auto* visits = new Visits;
    return *visits;
  }
  std::mutex& mutex() { return mutex_; }

  void start_idle_check() {
    std::call_once(idle_check_, [this] { std::thread([this] { end_idle_ones(); }).detach(); });
  }

 private:
  void add(Visit* visit) {
    std::lock_guard hold(mutex_);
    visits_.push_back(visit);
  }
  void remove(Visit* visit) {
    std::lock_guard hold(mutex_);
    std::erase(visits_, visit);
  }
  [[noreturn]] void end_idle_ones() {
    constexpr std::chrono::milliseconds check_interval{20}, most_idle{100};
    for (;; std::this_thread::sleep_for(check_interval)) {
      std::lock_guard hold(mutex_);
      const auto long_ago = std::chrono::steady_clock::now() - most_idle;
      for (Visit* visit : visits_)
        if (visit->requests == 0 && visit->last_used < long_ago) visit->room.reset();
    }
  }
  std::mutex mutex_;
  std::once_flag idle_check_;
  std::vector<Visit*> visits_;
};
constexpr double seconds_of_a_visit = 1;

std::mutex guard;  // of these two
std::string introduction;
std::function<void(std::string_view)> told_of_waiting;

constexpr const char *room_name = "gpu.lock", *door_name = "gpu.door";

// The holder's note, SPACE-PID-START and its activity; empty if it has ended.
std::string holder() {
  const std::string note = FileLock::noted(room_name);
  const std::string process = note.substr(0, note.find(' '));
  const size_t first = process.find('-'), second = process.find('-', first + 1);
  if (second == std::string::npos || is_gone(process)) return "";
  std::string out = " (held by pid " + process.substr(first + 1, second - first - 1);
  if (process.size() + 1 < note.size()) out += ", " + note.substr(process.size() + 1);
  return printable(out) + ")";
}

void tell_waiting() {
  std::function<void(std::string_view)> told;
  {
    std::lock_guard hold(guard);
    told = told_of_waiting;
  }
  if (told) told("waiting for the GPU" + holder());
}

std::string own_note() {
  std::lock_guard hold(guard);
  return this_process() + (introduction.empty() ? "" : " " + introduction);
}

}  // namespace

void GpuLock::introduce(std::string who) {
  std::lock_guard hold(guard);
  introduction = std::move(who);
}

void GpuLock::when_waiting(std::function<void(std::string_view)> told) {
  std::lock_guard hold(guard);
  told_of_waiting = std::move(told);
}

Result<FileLock> GpuLock::wait_for(const std::string& name, FileLock::Kind kind) {
  STITCH_TRY(std::optional<FileLock> at_once, FileLock::if_free(name, kind));
  if (at_once) return *std::move(at_once);
  tell_waiting();
  return FileLock::wait(name, kind);
}

// Writer-preferring read-write lock from two flocks: pending exclusive users block new shared ones and follow
// each other without shared users in between (with 16 tasks at a time, most waited for that).
Result<FileLock> GpuLock::enter(FileLock::Kind kind) {
  const bool alone = kind == FileLock::Kind::alone;
  const auto asked = std::chrono::steady_clock::now();
  STITCH_TRY(FileLock door,
             wait_for(door_name, alone ? FileLock::Kind::beside_others : FileLock::Kind::alone));
  STITCH_TRY(FileLock room, wait_for(room_name, kind));
  TimeAccount::add(TimeAccount::Kind::waiting, alone ? "to have the GPU alone" : "to use the GPU",
                   seconds_since(asked));
  return room;
}

Result<GpuLock> GpuLock::take() {
  GpuVisit::step_out();
  STITCH_TRY(FileLock room, enter(FileLock::Kind::alone));
  room.note(own_note());
  ++held_alone;
  GpuLock out;
  out.room_.emplace(std::move(room));
  return out;
}

// Whether this thread's visit covers one more request.
Result<bool> GpuLock::visits_still() {
  Visits::Visit& visit = Visits::mine();
  std::lock_guard hold(Visits::all().mutex());
  if (visit.requests == 0 && visit.room && seconds_since(visit.since) > seconds_of_a_visit) {
    STITCH_TRY(const std::optional<FileLock> door, FileLock::if_free(door_name));
    if (!door) visit.room.reset();
  }
  if (visit.room) ++visit.requests;
  return visit.room.has_value();
}

Result<GpuLock> GpuLock::share() {
  GpuLock out;
  if (held_alone > 0) return out;
  STITCH_TRY(bool goes_on, visits_still());
  if (!goes_on) {
    STITCH_TRY(FileLock room, enter(FileLock::Kind::beside_others));
    Visits::all().start_idle_check();
    Visits::Visit& visit = Visits::mine();
    std::lock_guard hold(Visits::all().mutex());
    visit.room.emplace(std::move(room));
    visit.since = std::chrono::steady_clock::now();
    ++visit.requests;
  }
  out.visiting_ = true;
  return out;
}

bool GpuLock::is_alone() { return held_alone > 0; }
bool GpuLock::is_held() { return is_alone() || Visits::mine().requests > 0; }

GpuLock::~GpuLock() {
  if (visiting_) {
    Visits::Visit& visit = Visits::mine();
    std::lock_guard hold(Visits::all().mutex());
    visit.last_used = std::chrono::steady_clock::now();
    if (--visit.requests == 0 && visit.depth == 0) visit.room.reset();
  }
  if (!room_) return;
  room_->note("");
  TimeAccount::add(TimeAccount::Kind::detail, "GPU held alone", seconds_since(since_));
  --held_alone;
}

GpuVisit::GpuVisit() { ++Visits::mine().depth; }
GpuVisit::~GpuVisit() {
  if (--Visits::mine().depth == 0) step_out();
}
void GpuVisit::step_out() {
  Visits::Visit& visit = Visits::mine();
  std::lock_guard hold(Visits::all().mutex());
  if (visit.requests == 0) visit.room.reset();
}

}  // namespace stitch
