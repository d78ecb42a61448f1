#include "plan/ways.h"

#include <algorithm>

namespace stitch::plan {

namespace {

// Truncated sums of a technique that comes in here: as short as its first user would have them where nothing
// is known of the model (plan/choose.cpp has the measured lengths).
constexpr int64_t balanced_sum = 1024, other_sum = 256;

int coarseness(Precision precision) {
  switch (precision) {
    case Precision::f32: return 0;
    case Precision::tf32:
    case Precision::f16: return 1;  // ten bits both
    case Precision::bf16: return 2;
  }
  return 0;
}

// Was the knob set so that the whole program takes less memory?
bool saves_memory(const Context& context, const Region& region, const std::string& knob) {
  const auto chosen = region.choices.find(knob);
  if (chosen == region.choices.end()) return false;
  Region before = region;
  before.choices.erase(knob);
  const auto leaner = region.technique->leaner(context, before);
  return leaner && leaner->knob == knob && leaner->value == chosen->second;
}

}  // namespace

Region with_way(const Context& context, const Region& region, const Way& way) {
  Region out = region;
  out.offer = way.offer;
  if (way.technique == region.technique) return out;
  out.technique = way.technique;
  out.choices.clear();
  out.source.reset();
  if (auto sums = way.technique->truncated_sums(context, out))
    out.choices[sums->knob] = sums->balanced ? balanced_sum : other_sum;
  return out;
}

std::vector<Way> ways_of(const Context& context, const Plan& plan, const Region& region,
                         const Catalogue& catalogue) {
  std::vector<Way> out;
  if (region.source) return out;  // user-written: no choices
  const Kind kind = kind_of(context.graph, region);
  const int now = coarseness(region.technique->operand_precision(context, region));
  for (const Technique* technique : catalogue.all()) {
    if (technique->kind() != kind || technique->takes_source()) continue;
    if (!technique->accepts(context, region)) continue;
    for (const Offer& offer : technique->offers(context, region)) {
      const Region changed = with_way(context, region, {technique, offer});
      const bool same = technique == region.technique && offer == region.offer;
      if (!same && coarseness(technique->operand_precision(context, changed)) > now) continue;
      // Times of such a way depend on the values (outliers are multiplied again), and those of a measurement
      // are drawn: it is an option only where its own judgement has it.
      if (!same && technique->entry() == Entry::approximate && !technique->suits(context, changed, offer))
        continue;
      if (!technique->accepts_storage(context, plan, changed)) continue;
      out.push_back({technique, offer});
    }
  }
  return out;
}

std::vector<Knob> open_knobs(const Context& context, const Region& region) {
  std::vector<Knob> out;
  const auto sums = region.technique->truncated_sums(context, region);
  for (Knob& knob : region.technique->knobs(context, region))
    if (knob.values.size() > 1 && !(sums && sums->knob == knob.name) &&
        !saves_memory(context, region, knob.name))
      out.push_back(std::move(knob));
  return out;
}

}  // namespace stitch::plan
