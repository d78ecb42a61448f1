// What may be chosen for a region: a technique with an offer of it (a way), then the value of every knob.
#pragma once

#include "plan/technique.h"

namespace stitch::learn {

struct Way {
  const plan::Technique* technique = nullptr;
  plan::Offer offer;
};

// The ways of the catalogue that can implement the region with values stored as the plan has them, and round
// operands no more coarsely than it does now: what precision costs was decided for the whole model, and a
// region alone can't know.
std::vector<Way> ways_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                         const plan::Catalogue& catalogue);
// The region implemented so; knobs stay with a technique that stays, else they are the technique's own.
plan::Region with_way(const plan::Context& context, const plan::Region& region, const Way& way);
// Those that are open to choice. A knob that shortens truncated sums is precision, one that was set to save
// memory is the whole plan's: both stay.
std::vector<plan::Knob> open_knobs(const plan::Context& context, const plan::Region& region);

// "conv.cudnn half channels_last algorithm=2 search=1": how a choice is written down.
std::string choice_text(const plan::Region& region);
// The region implemented as such a text has it; nothing: no way of it is called so, or a knob has no such
// value.
std::optional<plan::Region> read_choice(const plan::Context& context, const plan::Plan& plan,
                                        const plan::Region& region, const plan::Catalogue& catalogue,
                                        const std::string& text);

}  // namespace stitch::learn
