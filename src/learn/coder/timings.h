// Measured times of choices: lines of JSON, one a choice, added as they are measured. Training and
// comparisons read them, so that a GPU is needed once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "learn/coder/region_question.h"

namespace stitch::learn {

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

}  // namespace stitch::learn
