// How a choice for a region (plan/ways.h) is written down and read.
#pragma once

#include <optional>
#include <string>

#include "plan/ways.h"

namespace stitch::learn {

// "conv.cudnn half channels_last algorithm=2 search=1": how a choice is written down.
std::string choice_text(const plan::Region& region);
// The region implemented as such a text has it; nothing: no way of it is called so, or a knob has no such
// value.
std::optional<plan::Region> read_choice(const plan::Context& context, const plan::Plan& plan,
                                        const plan::Region& region, const plan::Catalogue& catalogue,
                                        const std::string& text);

}  // namespace stitch::learn
