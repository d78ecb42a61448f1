#include "serve/reward/statistics.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/machine/time_account.h"
#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch::serve {

namespace {

constexpr size_t most_points = 240, most_latest = 50;
constexpr auto recent = std::chrono::minutes(5);

std::string label_value(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void help(std::string& out, std::string_view name, std::string_view type, std::string_view text) {
  out += format("# HELP stitchcuda_{} {}\n# TYPE stitchcuda_{} {}\n", name, text, name, type);
}

}  // namespace

void Statistics::request(std::string_view path, int status) {
  std::lock_guard hold(mutex_);
  ++requests_[{std::string(path), status}];
}

void Statistics::answer(const Json& answer, bool now) {
  std::lock_guard hold(mutex_);
  ++labels_[word(answer, "label")];
  add_to_curve(answer);
  if (!now) return;
  ++judged_;
  times_.push_back(Clock::now());
  while (!times_.empty() && Clock::now() - times_.front() > recent) times_.pop_front();
  const Json seconds = answer.value("seconds", Json::object());
  const double total = seconds.value("total", 0.0), build = seconds.value("build", 0.0),
               run = seconds.value("run", 0.0);
  seconds_["build"] += build;
  seconds_["run"] += run;
  seconds_["open"] += seconds.value("open", 0.0);
  seconds_["other"] += std::max(0.0, total - build - run - seconds.value("open", 0.0));
  judging_seconds_ += total;
  const auto bucket = std::ranges::lower_bound(bounds, total) - bounds.begin();
  ++buckets_[static_cast<size_t>(bucket)];
  // Of a hack the verdict knows the gate that it failed at, which may be another matter.
  const std::string reason = word(answer, "label") == "hack"
                                 ? word(answer, "reason")
                                 : word(answer.value("verdict", Json::object()), "reason");
  Json shown = {{"key", word(answer, "key")},
                {"task", word(answer, "task")},
                {"label", word(answer, "label")},
                {"reward", answer.value("reward", 0.0)},
                {"counted", answer.value("counted", false)},
                {"reason", shorten(reason, 200)},
                {"seconds", total},
                {"machine", word(answer, "machine")},
                {"date", word(answer, "date")}};
  latest_.push_front(std::make_shared<const Json>(std::move(shown)));
  if (latest_.size() > most_latest) latest_.pop_back();
}

void Statistics::add_to_curve(const Json& answer) {
  if (curve_.empty() || curve_.back().answers >= a_point_) curve_.emplace_back();
  Point& point = curve_.back();
  const std::string label = word(answer, "label");
  ++point.answers;
  if (answer.value("counted", false)) {
    ++point.counted;
    point.reward += answer.value("reward", 0.0);
  }
  if (label.starts_with("correct")) ++point.correct;
  if (label == "hack") ++point.hacks;
  if (curve_.size() <= most_points) return;
  std::deque<Point> merged;
  for (size_t i = 0; i < curve_.size(); i += 2) {
    Point both = curve_[i];
    if (i + 1 < curve_.size()) {
      const Point& other = curve_[i + 1];
      both = {both.answers + other.answers, both.counted + other.counted, both.correct + other.correct,
              both.hacks + other.hacks, both.reward + other.reward};
    }
    merged.push_back(both);
  }
  curve_ = std::move(merged);
  a_point_ *= 2;
}

double Statistics::rate() const {
  std::lock_guard hold(mutex_);
  const auto since = Clock::now() - recent;
  const auto count = std::ranges::count_if(times_, [&](Clock::time_point time) { return time > since; });
  if (count < 2) return 0;
  const double minutes = seconds_since(times_.front()) / 60;
  return static_cast<double>(count) / std::max(minutes, 1.0 / 60);
}

Json Statistics::to_json() const {
  std::lock_guard hold(mutex_);
  Json labels = Json::object(), curve = Json::array(), seconds = Json::object();
  for (const auto& [label, count] : labels_) labels[label] = count;
  for (const auto& [part, sum] : seconds_) seconds[part] = sum;
  Json latest = Json::array();
  for (const SharedJson& each : latest_) latest.push_back(*each);
  for (const Point& point : curve_)
    curve.push_back({{"answers", point.answers},
                     {"reward", point.counted ? Json(point.reward / point.counted) : Json()},
                     {"correct", static_cast<double>(point.correct) / point.answers},
                     {"hacks", static_cast<double>(point.hacks) / point.answers}});
  return {{"labels", std::move(labels)},   {"judged", judged_},         {"from_store", from_store_},
          {"seconds", std::move(seconds)}, {"curve", std::move(curve)}, {"latest", std::move(latest)}};
}

void Statistics::append_histogram(std::string& out) const {
  help(out, "judging_seconds", "histogram", "Seconds from lease to answer.");
  uint64_t below = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    below += buckets_[i];
    out += format("stitchcuda_judging_seconds_bucket{{le=\"{}\"}} {}\n", bounds[i], below);
  }
  out += format("stitchcuda_judging_seconds_bucket{{le=\"+Inf\"}} {}\n", below + buckets_.back());
  out += format("stitchcuda_judging_seconds_sum {}\nstitchcuda_judging_seconds_count {}\n", judging_seconds_,
                below + buckets_.back());
}

std::string Statistics::metrics(const QueueCounts& queue, const std::map<std::string, double>& workers,
                                size_t connections, size_t kept) const {
  std::string out;
  auto gauge = [&](std::string_view name, auto value, std::string_view text) {
    help(out, name, "gauge", text);
    out += format("stitchcuda_{} {}\n", name, value);
  };
  auto counter = [&](std::string_view name, auto value, std::string_view text) {
    help(out, name, "counter", text);
    out += format("stitchcuda_{} {}\n", name, value);
  };
  gauge("queue_length", queue.waiting, "Candidates that wait for a device.");
  gauge("leased", queue.leased, "Candidates that are being judged.");
  gauge("workers", workers.size(), "Workers on other machines that were heard of in the last minute.");
  gauge("connections", connections, "Open connections.");
  gauge("answers_kept", kept, "Answers on disk.");
  counter("leases_lost_total", queue.lost, "Leases of workers that were not heard of again.");
  counter("results_twice_total", queue.twice, "Results that did not count: the work was done already.");
  std::lock_guard hold(mutex_);
  counter("answers_from_store_total", from_store_, "Requests that an earlier verdict answered.");
  help(out, "verdicts_total", "counter", "Verdicts by label.");
  for (const auto& [label, count] : labels_)
    out += format("stitchcuda_verdicts_total{{label=\"{}\"}} {}\n", label_value(label), count);
  help(out, "requests_total", "counter", "Requests by path and status.");
  for (const auto& [which, count] : requests_)
    out += format("stitchcuda_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", label_value(which.first),
                  which.second, count);
  help(out, "device_seconds_total", "counter", "Seconds of judging, by what they were spent on.");
  for (const auto& [part, sum] : seconds_)
    out += format("stitchcuda_device_seconds_total{{part=\"{}\"}} {}\n", part, sum);
  append_histogram(out);
  return out;
}

}  // namespace stitch::serve
