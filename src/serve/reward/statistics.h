// What a service has seen, for its page and for Prometheus.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <mutex>

#include "base/json.h"
#include "serve/fleet/queue.h"

namespace stitch::serve {

class Statistics {
 public:
  void request(std::string_view path, int status);
  // An answer of now, or of an earlier process: those count for the curve and the labels alone.
  void answer(const Json& answer, bool now);
  void from_store() { bump(from_store_); }

  // Verdicts per minute over the last five minutes, for clients that must retry.
  double rate() const;
  Json to_json() const;  // labels, the latest answers, the curve
  // Prometheus' text format.
  std::string metrics(const QueueCounts& queue, const std::map<std::string, double>& workers,
                      size_t connections, size_t kept) const;

 private:
  void bump(uint64_t& counter) {
    std::lock_guard hold(mutex_);
    ++counter;
  }
  // Answers in their order, many of them merged to one point once there are many.
  struct Point {
    int answers = 0, counted = 0, correct = 0, hacks = 0;
    double reward = 0;  // sum of those that count
  };
  void add_to_curve(const Json& answer);
  void append_histogram(std::string& out) const;

  using Clock = std::chrono::steady_clock;
  static constexpr std::array<double, 10> bounds = {0.1, 0.3, 1, 2, 5, 10, 30, 60, 120, 300};

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> requests_;
  std::map<std::string, uint64_t> labels_;
  std::map<std::string, double> seconds_;  // by part: build, run, other
  std::array<uint64_t, bounds.size() + 1> buckets_{};
  uint64_t from_store_ = 0, judged_ = 0;
  double judging_seconds_ = 0;
  std::deque<SharedJson> latest_;
  std::deque<Clock::time_point> times_;
  std::deque<Point> curve_;
  int a_point_ = 1;  // answers a point
};

}  // namespace stitch::serve
