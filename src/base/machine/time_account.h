// Where the seconds of this process went, by name: for reports of runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace stitch {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class TimeAccount {
 public:
  enum class Kind : uint8_t {
    phase,    // of a run: they add up to its wall time; one inside another is counted once, as the inner one
    waiting,  // for others on this machine, within phases or beside them
    detail,   // what phases were made of, in this process or another
  };
  struct Entry {
    double seconds = 0;
    int64_t times = 0;
  };
  using Entries = std::map<std::pair<Kind, std::string>, Entry>;

  static void add(Kind kind, std::string_view name, double seconds);
  static Entries all();
  // What came since `before`.
  static Entries since(const Entries& before);
  // Seconds that the calling thread waited, since it began.
  static double waited_here();
};

// Adds the seconds from its beginning to its end; a phase, without those of phases inside it.
class SpentOn {
 public:
  explicit SpentOn(std::string name, TimeAccount::Kind kind = TimeAccount::Kind::detail);
  SpentOn(const SpentOn&) = delete;
  SpentOn& operator=(const SpentOn&) = delete;
  ~SpentOn();
  double seconds() const { return seconds_since(begin_); }

 private:
  friend class TimeAccount;
  using Clock = std::chrono::steady_clock;
  std::string name_;
  TimeAccount::Kind kind_;
  SpentOn* around_ = nullptr;  // the phase of this thread that this one is inside of
  double inside_ = 0;          // seconds of phases inside this one
  Clock::time_point begin_ = Clock::now();
};

}  // namespace stitch
