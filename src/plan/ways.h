// The ways a region can be implemented without changing the rest of the plan: a technique with an offer of
// it, then the value of every knob.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

struct Way {
  const Technique* technique = nullptr;
  Offer offer;
};

// The ways of the catalogue that can implement the region with values stored as the plan has them, and round
// operands no more coarsely than it does now: what precision costs was decided for the whole model, and a
// region alone can't know.
std::vector<Way> ways_of(const Context& context, const Plan& plan, const Region& region,
                         const Catalogue& catalogue);
// The region implemented so; knobs stay with a technique that stays, else they are the technique's own.
Region with_way(const Context& context, const Region& region, const Way& way);
// Those that are open to choice. A knob that shortens truncated sums is precision, one that was set to save
// memory is the whole plan's: both stay.
std::vector<Knob> open_knobs(const Context& context, const Region& region);

}  // namespace stitch::plan
