// Views and constants that only one region reads, inside that region: a transpose is read where it lies, a
// constant is a number in the code.
#pragma once

#include "graph/graph.h"
#include "plan/technique.h"

namespace stitch::plan {

// Into products and convolutions.
Result<Plan> take_views(const Context& context, Plan plan);
// Into attention: it reads heads where the product before it left them, and a cache beside what is new. Into
// convolutions of pixels that linear layers made and read.
Result<Plan> absorb_views(const Context& context, Plan plan, const Catalogue& catalogue);

bool is_strided_view(Op op);  // one that strides can say, of a row-major value

// Where an image's channels are in memory, followed through views and element-wise nodes.
// The image is a view of a tensor whose last dimension is the channels, such as a linear layer's output.
bool has_channels_from_last(const Graph& graph, ValueId image);
// Every reader of the image transposes it to channels last, directly or after element-wise nodes.
bool is_wanted_channels_last(const Graph& graph, ValueId image);

}  // namespace stitch::plan
