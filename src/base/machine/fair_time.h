// A limit of time that others on the machine hardly shorten: of a series of like things each counts as much
// as the fastest one took, until all of them have taken several times the limit.
#pragma once

#include <algorithm>
#include <chrono>

namespace stitch {

class FairTime {
 public:
  explicit FairTime(std::chrono::duration<double> limit) : limit_(limit) {}

  // Whether there is time for another one, which begins now.
  bool another() {
    constexpr double most_of_limit = 8;
    const Clock::time_point now = Clock::now();
    if (begun_ > 0) fastest_ = std::min<Seconds>(fastest_, now - last_);
    last_ = now;
    return begun_++ == 0 || (fastest_ * begun_ <= limit_ && now - begin_ <= most_of_limit * limit_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  Seconds limit_, fastest_ = Seconds::max();
  Clock::time_point begin_ = Clock::now(), last_;
  int begun_ = 0;
};

}  // namespace stitch
