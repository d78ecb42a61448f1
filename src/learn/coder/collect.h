// Measures many problems on this machine's GPU: programs are built concurrently, timed one at a time, and
// recorded at once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "learn/coder/measure.h"
#include "learn/coder/region_question.h"

namespace stitch::learn {

// Measured times of choices: lines of JSON, one a choice, added as they are measured. Training and
// comparisons read them, so that a GPU is needed once.
struct TimingRow {
  std::string gpu, task, region, key, choice;
  Timed timed;
  std::string set = {};  // of tasks that are never trained on
};

class Timings {
 public:
  // A file that is not there has none. A line that was cut off at the end by a kill is left out; any other
  // that is no timing is an error with its number.
  static Result<Timings> read(const fs::path& file);

  const std::map<std::string, Timed>* of(const std::string& key) const;
  void add(const TimingRow& row);
  size_t size() const { return size_; }
  bool has_task(const std::string& task) const { return tasks_.contains(task); }

 private:
  std::set<std::string> tasks_;
  std::map<std::string, std::map<std::string, Timed>> by_key_;  // by problem, then by choice
  size_t size_ = 0;
};
Result<void> append(const fs::path& file, const std::vector<TimingRow>& rows);

// Only what was measured.
class MeasuredTimes final : public Times {
 public:
  explicit MeasuredTimes(const Timings& timings) : timings_(timings) {}
  Timed of(const RegionProblem& problem, const plan::Region& chosen) override;
  const std::vector<std::string>* known(const RegionProblem& problem) override;

 private:
  const Timings& timings_;
  std::map<std::string, std::vector<std::string>> known_;  // choices that ran, sorted
};

struct CollectOptions {
  fs::path file;        // timings are added to it
  size_t choices = 24;  // of a problem, at most
  int jobs = 4;         // programs at a time
  double seconds = 0;   // after which no new one is started; 0: no limit
  uint64_t seed = 1;
  std::function<bool()> should_stop;
  std::function<void(const std::string& problem, int done, int all)> on_progress;
};
struct Collected {
  int problems = 0, known = 0, not_begun = 0;  // known: measured before
  int timed = 0, failed = 0;                   // choices
  int by_events = 0;                           // of the timed ones
  std::vector<std::string> troubles;           // problems that nothing came of, or not all, and why
};
// Ordered so that at any time limit every kind of region and every set of tasks has had its share; training
// tasks have two shares.
std::vector<RegionProblem> in_fair_order(std::vector<RegionProblem> problems);
// Those of which the cost model would choose another of these choices than the built-in Planner has chosen.
// Where the two agree, measuring says nothing about which of them chooses better.
std::vector<RegionProblem> disputed(std::vector<RegionProblem> problems, size_t choices, uint64_t seed);
Result<Collected> collect(const std::vector<RegionProblem>& problems, Timings& timings,
                          const CollectOptions& options);

}  // namespace stitch::learn
