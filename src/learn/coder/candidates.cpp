#include "learn/coder/candidates.h"

#include <algorithm>
#include <set>

#include "code/catalogue.h"
#include "learn/draw.h"
#include "plan/cost/estimate.h"

namespace stitch::learn {

namespace {

// The way with every open knob at the technique's own.
plan::Region as_it_is(const RegionProblem& problem, const plan::Way& way) {
  plan::Region out = with_way(problem.context(), problem.now(), way);
  for (const plan::Knob& knob : open_knobs(problem.context(), out)) out.choices.erase(knob.name);
  return out;
}

// Every knob by chance, its own among the values; which knobs there are may depend on those before.
plan::Region drawn_choice(const RegionProblem& problem, const std::vector<plan::Way>& ways, Draw& draw) {
  plan::Region out = as_it_is(problem, ways[static_cast<size_t>(draw.below(std::ssize(ways)))]);
  for (size_t i = 0;; ++i) {
    const std::vector<plan::Knob> knobs = open_knobs(problem.context(), out);
    if (i >= knobs.size()) return out;
    const int64_t value = draw.below(std::ssize(knobs[i].values) + 1);
    if (value > 0) out.choices[knobs[i].name] = knobs[i].values[static_cast<size_t>(value - 1)];
  }
}

// Each value of each open knob, the others as they are.
std::vector<plan::Region> with_one_knob(const RegionProblem& problem, const plan::Region& own) {
  std::vector<plan::Region> out;
  for (const plan::Knob& knob : open_knobs(problem.context(), own))
    for (int64_t value : knob.values) {
      out.push_back(own);
      out.back().choices[knob.name] = value;
    }
  return out;
}

std::vector<plan::Region> shuffled(std::vector<plan::Region> all, Draw& draw) {
  for (size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[static_cast<size_t>(draw.below(static_cast<int64_t>(i)))]);
  return all;
}

}  // namespace

std::vector<plan::Region> candidate_choices(const RegionProblem& problem, size_t most, uint64_t seed) {
  std::vector<plan::Region> out;
  std::set<std::string> known;
  auto take = [&](const plan::Region& region, size_t until) {
    if (out.size() < until && known.insert(choice_text(region)).second) out.push_back(region);
  };
  take(problem.now(), most);
  const std::vector<plan::Way> ways =
      ways_of(problem.context(), problem.plan(), problem.now(), code::catalogue());
  if (ways.empty()) return out;
  std::vector<plan::Region> plain;
  for (const plan::Way& way : ways) plain.push_back(as_it_is(problem, way));
  std::ranges::stable_sort(plain, {}, [&](const plan::Region& each) {
    return plan::estimate(problem.context(), problem.plan(), each).seconds();
  });
  for (const plan::Region& each : plain) take(each, (most + 1) / 2);
  // Where the built-in choice can be beaten, it mostly is by its own technique with another value of a knob
  // (H200, 168 regions): those first, then knobs of the other ways, likeliest first.
  Draw draw(seed, stable_hash(problem.key));
  auto take_knobs_of = [&](const plan::Region& own, size_t until) {
    for (const plan::Region& each : shuffled(with_one_knob(problem, own), draw)) take(each, until);
  };
  take_knobs_of(problem.now(), most * 3 / 4);
  for (const plan::Region& each : plain) take_knobs_of(each, most * 3 / 4);
  for (size_t tries = 0; out.size() < most && tries < 4 * most; ++tries)
    take(drawn_choice(problem, ways, draw), most);
  return out;
}

}  // namespace stitch::learn
