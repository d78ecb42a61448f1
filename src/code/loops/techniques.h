// Techniques whose kernels are generated from expressions: everything but products, convolutions, attention
// and recurrences.
#pragma once

#include "code/technique.h"

namespace stitch::code::loops {

const Technique& loop();
const Technique& batch_norm();
const Technique& row();
const Technique& scan();
const Technique& scatter();
const Technique& sort();
const Technique& factor();
const Technique& grouped();
// The first that accepts a region; an error says why none does.
Result<const Technique*> classify(const plan::Context& context, const plan::Region& region);

}  // namespace stitch::code::loops
