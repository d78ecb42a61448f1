#include "device/gpu_lock.h"

#include <atomic>
#include <mutex>

#include "base/file.h"
#include "base/terminal.h"
#include "base/time_account.h"

namespace stitch::device {

namespace {

std::atomic<int> held = 0;  // by this process

std::mutex guard;  // of these two
std::string introduction;
std::function<void(std::string_view)> told_of_waiting;

constexpr const char* room_name = "gpu.lock";

// SPACE-PID-START and what it is doing, as the holder noted it; nothing if that one is gone.
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

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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

// Through a door that those who want the room alone hold shut together: a stream of sharers can't keep them out
// for ever, and they follow each other without waiting for sharers in between (of 16 tasks at a time, most
// waited for that).
Result<GpuLock> GpuLock::enter(FileLock::Kind kind) {
  const bool alone = kind == FileLock::Kind::alone;
  const auto asked = std::chrono::steady_clock::now();
  STITCH_TRY(FileLock door,
             wait_for("gpu.door", alone ? FileLock::Kind::beside_others : FileLock::Kind::alone));
  STITCH_TRY(FileLock room, wait_for(room_name, kind));
  TimeAccount::add(TimeAccount::Kind::waiting, alone ? "to have the GPU alone" : "to use the GPU",
                   seconds_since(asked));
  if (alone) room.note(own_note());
  ++held;
  return GpuLock(std::move(room), alone);
}

Result<GpuLock> GpuLock::take() { return enter(FileLock::Kind::alone); }
Result<GpuLock> GpuLock::share() {
  return held > 0 ? GpuLock(std::nullopt) : enter(FileLock::Kind::beside_others);
}

bool GpuLock::is_held() { return held > 0; }

GpuLock::~GpuLock() {
  if (!room_) return;
  if (alone_) {
    room_->note("");
    TimeAccount::add(TimeAccount::Kind::detail, "GPU held alone", seconds_since(since_));
  }
  --held;
}

}  // namespace stitch::device
