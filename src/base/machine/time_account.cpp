#include "base/machine/time_account.h"

#include <mutex>

namespace stitch {

namespace {

std::mutex guard;
TimeAccount::Entries& entries() {
  static TimeAccount::Entries all;
  return all;
}
thread_local double waited = 0;
thread_local SpentOn* innermost = nullptr;  // phase of this thread

}  // namespace

void TimeAccount::add(Kind kind, std::string_view name, double seconds) {
  if (kind == Kind::waiting) waited += seconds;
  if (kind == Kind::phase && innermost) innermost->inside_ += seconds;
  std::lock_guard hold(guard);
  Entry& entry = entries()[{kind, std::string(name)}];
  entry.seconds += seconds;
  ++entry.times;
}

TimeAccount::Entries TimeAccount::all() {
  std::lock_guard hold(guard);
  return entries();
}

TimeAccount::Entries TimeAccount::since(const Entries& before) {
  Entries out;
  for (auto& [key, entry] : all()) {
    auto earlier = before.find(key);
    const Entry old = earlier == before.end() ? Entry{} : earlier->second;
    if (entry.times > old.times) out[key] = {entry.seconds - old.seconds, entry.times - old.times};
  }
  return out;
}

double TimeAccount::waited_here() { return waited; }

SpentOn::SpentOn(std::string name, TimeAccount::Kind kind) : name_(std::move(name)), kind_(kind) {
  if (kind_ == TimeAccount::Kind::phase) around_ = std::exchange(innermost, this);
}

SpentOn::~SpentOn() {
  const double whole = seconds();
  if (kind_ == TimeAccount::Kind::phase) innermost = around_;
  TimeAccount::add(kind_, name_, whole - inside_);
  if (around_) around_->inside_ += inside_;
}

}  // namespace stitch
