// What each region is asked alone, and what float64 makes of that: inputs that it really sees, faint rows,
// extremes. It takes no program to know, so it is computed while one is built.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "graph/cost.h"
#include "oracle/interpreter.h"
#include "program/manifest.h"
#include "reference/numerics.h"
#include "verify/session.h"

namespace stitch::verifier {

enum class RegionAsked : uint8_t { as_in_the_model, faint, ends, low };
std::string_view text(RegionAsked asked);  // "", or " on faint rows and rows of zeros"

struct RegionQuestion {
  size_t region = 0;  // in the manifest
  RegionAsked asked = RegionAsked::as_in_the_model;
  Tensors inputs;       // as the region's contract stores them
  oracle::Known known;  // what its nodes read
  std::vector<ValueId> writes;
  std::vector<oracle::Tensor> expected;
  std::vector<Judging> judging;  // of each
};

std::vector<int32_t> nodes_of(const Graph& graph, const ManifestRegion& region);

// The regions that the oracle has time for, the first of each kind before all others, then what is asked of
// them besides.
class RegionQuestions {
 public:
  RegionQuestions(const TaskGraph& task, std::vector<ManifestRegion> regions, Numerics numerics,
                  std::chrono::duration<double> limit, uint64_t seed, bool besides);

  // Of a trial, by name.
  Result<void> take(const std::vector<ManifestTensor>& names, const Tensors& values);
  // Nothing: no more fits into the time.
  Result<std::optional<RegionQuestion>> next();

  const std::vector<ManifestRegion>& regions() const { return regions_; }
  // Estimates, until the task's own pace is known.
  double seconds_of(size_t region) const;
  double limit() const { return limit_; }

 private:
  struct Asking {
    size_t region;
    RegionAsked asked;
  };
  struct Contract {
    std::vector<ValueId> reads, writes;
  };

  bool fits(double estimate) const;
  Result<std::optional<RegionQuestion>> question(const Asking& asking);
  Result<Contract> contract(const ManifestRegion& region) const;
  Result<void> provide(const std::vector<ValueId>& reads);
  Result<RegionQuestion> ask(const Asking& asking, const oracle::Known& values,
                             const Contract& contract) const;
  std::optional<oracle::Known> besides(const Asking& asking, const Contract& contract);
  Result<std::vector<double>> movement(const ManifestRegion& region, oracle::Known known,
                                       const std::vector<ValueId>& writes,
                                       const std::vector<oracle::Tensor>& expected) const;
  double least_truth(const ManifestRegion& region, const Slot& mean,
                     const std::vector<oracle::Tensor>& expected) const;

  const TaskGraph& task_;
  const Graph& graph_;
  const std::vector<ManifestRegion> regions_;
  const Numerics numerics_;
  const double limit_;
  const bool besides_;
  uint64_t seed_;
  const GraphCost costs_;
  std::set<ValueId> parameters_, constants_;
  oracle::Known live_;
  std::deque<Asking> left_;
  double spent_ = 0, estimated_ = 0;  // on the questions so far
};

// They are put together in a thread of their own, which begins once they have what the reference knows.
class RegionQuestionsAhead {
 public:
  explicit RegionQuestionsAhead(std::unique_ptr<RegionQuestions> questions)
      : questions_(std::move(questions)) {}
  RegionQuestionsAhead(const RegionQuestionsAhead&) = delete;
  RegionQuestionsAhead& operator=(const RegionQuestionsAhead&) = delete;
  ~RegionQuestionsAhead();

  // Once, by the thread that speaks to the reference.
  void begin(const std::function<Result<void>(RegionQuestions&)>& prepare);
  // Waits for begin(), too.
  Result<std::optional<RegionQuestion>> next();
  const RegionQuestions& questions() const { return *questions_; }

 private:
  void work();

  std::unique_ptr<RegionQuestions> questions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Result<std::optional<RegionQuestion>>> ready_;  // the last one: an Error, or nothing
  bool stop_ = false;
  std::thread worker_;
};

// Of the program that will be judged, by what its folder says, into session.region_questions. What has to be
// done first, by the thread that speaks to the reference.
std::function<void(Reference&)> region_questions_ahead(Session& session);

}  // namespace stitch::verifier
