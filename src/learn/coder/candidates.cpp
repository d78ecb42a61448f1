#include "learn/coder/candidates.h"

#include <set>

#include "code/catalogue.h"
#include "learn/grpo/draw.h"

namespace stitch::learn {

namespace {

// The way with every open knob at the technique's own.
plan::Region as_it_is(const RegionProblem& problem, const Way& way) {
  plan::Region out = with_way(problem.context(), problem.now(), way);
  for (const plan::Knob& knob : open_knobs(problem.context(), out)) out.choices.erase(knob.name);
  return out;
}

// Every knob by chance, its own among the values; which knobs there are may depend on those before.
plan::Region drawn_choice(const RegionProblem& problem, const std::vector<Way>& ways, Draw& draw) {
  plan::Region out = as_it_is(problem, ways[static_cast<size_t>(draw.below(std::ssize(ways)))]);
  for (size_t i = 0;; ++i) {
    const std::vector<plan::Knob> knobs = open_knobs(problem.context(), out);
    if (i >= knobs.size()) return out;
    const int64_t value = draw.below(std::ssize(knobs[i].values) + 1);
    if (value > 0) out.choices[knobs[i].name] = knobs[i].values[static_cast<size_t>(value - 1)];
  }
}

}  // namespace

std::vector<plan::Region> candidate_choices(const RegionProblem& problem, size_t most, uint64_t seed) {
  std::vector<plan::Region> out, single;
  std::set<std::string> known;
  auto take = [&](const plan::Region& region) {
    if (out.size() < most && known.insert(choice_text(region)).second) out.push_back(region);
  };
  take(problem.now());
  const std::vector<Way> ways = ways_of(problem.context(), problem.plan(), problem.now(), code::catalogue());
  for (const Way& way : ways) {
    const plan::Region own = as_it_is(problem, way);
    take(own);
    for (const plan::Knob& knob : open_knobs(problem.context(), own))
      for (int64_t value : knob.values) {
        single.push_back(own);
        single.back().choices[knob.name] = value;
      }
  }
  if (ways.empty()) return out;
  Draw draw(seed, stable_hash(problem.key));
  for (size_t i = single.size(); i > 1; --i)
    std::swap(single[i - 1], single[static_cast<size_t>(draw.below(static_cast<int64_t>(i)))]);
  for (const plan::Region& each : single) {
    if (out.size() >= most * 3 / 4) break;
    take(each);
  }
  for (size_t tries = 0; out.size() < most && tries < 4 * most; ++tries)
    take(drawn_choice(problem, ways, draw));
  return out;
}

}  // namespace stitch::learn
