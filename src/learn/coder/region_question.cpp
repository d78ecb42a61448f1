#include "learn/coder/region_question.h"

#include <algorithm>
#include <functional>

#include "code/catalogue.h"
#include "plan/estimate.h"

namespace stitch::learn {

Timed EstimatedTimes::of(const RegionProblem& problem, const plan::Region& chosen) {
  return {Timed::Kind::timed, plan::estimate(problem.context(), problem.plan(), chosen).seconds()};
}

RegionQuestion::RegionQuestion(RegionProblem problem, Times& times, RewardOf reward,
                               std::optional<Feedback> feedback)
    : problem_(std::move(problem)),
      times_(times),
      reward_(std::move(reward)),
      feedback_(std::move(feedback)),
      features_(problem_.context(), problem_.plan(), problem_.region, feedback_ ? &*feedback_ : nullptr),
      known_(times.known(problem_)) {}

RegionQuestion::Node RegionQuestion::first() const {
  Node out{.region = problem_.now(), .knob = 0, .next = {}, .rows = {}};
  const std::vector<Way> ways =
      ways_of(problem_.context(), problem_.plan(), problem_.now(), code::catalogue());
  for (const Way& way : ways) {
    out.next.push_back(with_way(problem_.context(), problem_.now(), way));
    // Each open knob is a decision of its own.
    for (const plan::Knob& knob : open_knobs(problem_.context(), out.next.back()))
      out.next.back().choices.erase(knob.name);
  }
  out.rows = features_.of_ways(ways, code::catalogue());
  keep_known(out);
  return out;
}

RegionQuestion::Node RegionQuestion::after(const Node& before, int option) const {
  Node out{.region = before.next[static_cast<size_t>(option)],
           .knob = before.rows.empty() ? 0 : before.knob,
           .next = {},
           .rows = {}};
  open(out);
  return out;
}

void RegionQuestion::open(Node& node) const {
  const std::vector<plan::Knob> knobs = open_knobs(problem_.context(), node.region);
  if (node.knob >= knobs.size()) return;
  const plan::Knob& knob = knobs[node.knob++];
  node.next.push_back(node.region);
  for (int64_t value : knob.values) {
    node.next.push_back(node.region);
    node.next.back().choices[knob.name] = value;
  }
  node.rows = features_.of_values(node.region, knob);
  keep_known(node);
}

// Options that no known choice has are none. Values that stand at the technique's own are left out of the
// text, so whether an option leads to a known choice shows only at the end: all ends below it are looked at.
void RegionQuestion::keep_known(Node& node) const {
  if (!known_) return;
  std::function<bool(const plan::Region&, size_t)> leads = [&](const plan::Region& region, size_t knob) {
    const std::vector<plan::Knob> knobs = open_knobs(problem_.context(), region);
    if (knob >= knobs.size()) return std::ranges::binary_search(*known_, choice_text(region));
    if (leads(region, knob + 1)) return true;
    plan::Region changed = region;
    return std::ranges::any_of(knobs[knob].values, [&](int64_t value) {
      changed.choices[knobs[knob].name] = value;
      return leads(changed, knob + 1);
    });
  };
  const size_t features = static_cast<size_t>(feature_count());
  std::vector<plan::Region> kept;
  std::vector<float> rows;
  for (size_t i = 0; i < node.next.size(); ++i) {
    if (!leads(node.next[i], node.knob)) continue;
    kept.push_back(std::move(node.next[i]));
    rows.insert(rows.end(), node.rows.begin() + static_cast<std::ptrdiff_t>(i * features),
                node.rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * features));
  }
  node.next = std::move(kept);
  node.rows = std::move(rows);
}

const RegionQuestion::Node& RegionQuestion::node(std::span<const int> chosen) {
  std::vector<int> path(chosen.begin(), chosen.end());
  if (auto found = nodes_.find(path); found != nodes_.end()) return found->second;
  if (chosen.empty()) return nodes_.emplace(path, first()).first->second;
  const Node& before = node(chosen.first(chosen.size() - 1));
  require(chosen.back() >= 0 && static_cast<size_t>(chosen.back()) < before.next.size(),
          "an option that there is");
  return nodes_.emplace(path, after(before, chosen.back())).first->second;
}

std::vector<float> RegionQuestion::options(std::span<const int> chosen) { return node(chosen).rows; }

plan::Region RegionQuestion::region_of(std::span<const int> chosen) { return node(chosen).region; }

double RegionQuestion::reward(std::span<const int> chosen) {
  std::vector<int> path(chosen.begin(), chosen.end());
  if (auto found = rewards_.find(path); found != rewards_.end()) return found->second;
  if (!built_in_) built_in_ = times_.of(problem_, problem_.now());
  const plan::Region& region = node(chosen).region;
  const double out = reward_(problem_, region, times_.of(problem_, region), *built_in_);
  rewards_.emplace(std::move(path), out);
  return out;
}

std::optional<std::vector<int>> RegionQuestion::decisions_to(const plan::Region& region) {
  std::vector<int> path;
  for (;;) {
    const Node& here = node(path);
    if (here.next.empty()) break;
    // The option that agrees with the region in all that is decided up to there.
    const auto agrees = [&](const plan::Region& option) {
      if (option.technique != region.technique || option.offer != region.offer) return false;
      if (path.empty()) return true;
      const std::vector<plan::Knob> knobs = open_knobs(problem_.context(), option);
      const std::string& knob = knobs[here.knob - 1].name;
      const auto mine = option.choices.find(knob), theirs = region.choices.find(knob);
      if (theirs == region.choices.end()) return mine == option.choices.end();
      return mine != option.choices.end() && mine->second == theirs->second;
    };
    const auto found = std::ranges::find_if(here.next, agrees);
    if (found == here.next.end()) return std::nullopt;
    path.push_back(static_cast<int>(found - here.next.begin()));
  }
  return path;
}

std::vector<std::vector<int>> RegionQuestion::all_answers(size_t most) {
  std::vector<std::vector<int>> out, open = {{}};
  while (!open.empty() && out.size() < most) {
    const std::vector<int> path = std::move(open.back());
    open.pop_back();
    const size_t count = node(path).next.size();
    if (count == 0) {
      if (!path.empty()) out.push_back(path);
      continue;
    }
    for (size_t i = count; i-- > 0;) {
      open.push_back(path);
      open.back().push_back(static_cast<int>(i));
    }
  }
  return out;
}

}  // namespace stitch::learn
