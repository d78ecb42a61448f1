#include "learn/coder/region_question.h"

#include "code/catalogue.h"
#include "learn/coder/candidates.h"
#include "plan/cost/estimate.h"

namespace stitch::learn {

namespace {

constexpr size_t most_choices = 96;

// Those whose times are known, or any. What another version measured and this one can't do is left out.
std::vector<plan::Region> choices_of(const RegionProblem& problem, Times& times) {
  const std::vector<std::string>* known = times.known(problem);
  if (!known) return candidate_choices(problem, most_choices);
  if (times.of(problem, problem.now()).kind != Timed::Kind::timed) return {};
  std::vector<plan::Region> out = {problem.now()};
  const std::string now = choice_text(problem.now());
  for (const std::string& each : *known)
    if (each != now)
      if (auto read = read_choice(problem.context(), problem.plan(), problem.now(), code::catalogue(), each))
        out.push_back(*std::move(read));
  return out;
}

}  // namespace

Timed EstimatedTimes::of(const RegionProblem& problem, const plan::Region& chosen) {
  return {Timed::Kind::timed, plan::estimate(problem.context(), problem.plan(), chosen).seconds()};
}

RegionQuestion::RegionQuestion(RegionProblem problem, Times& times)
    : problem_(std::move(problem)), times_(times), choices_(choices_of(problem_, times)) {
  if (choices_.size() < 2) choices_.clear();
  timed_.resize(choices_.size());
}

const std::vector<float>& RegionQuestion::features() {
  if (rows_.empty() && !choices_.empty()) {
    const RegionFeatures features(problem_.context(), problem_.plan(), problem_.region);
    for (const plan::Region& each : choices_) {
      const std::vector<float> row = features.of_choice(each);
      rows_.insert(rows_.end(), row.begin(), row.end());
    }
  }
  return rows_;
}

const Timed& RegionQuestion::time_of(size_t choice) {
  std::optional<Timed>& known = timed_.at(choice);
  if (!known) known = times_.of(problem_, choices_[choice]);
  return *known;
}

}  // namespace stitch::learn
