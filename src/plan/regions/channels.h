// Where an image's channels are in memory, followed through views and element-wise nodes.
#pragma once

#include "graph/graph.h"

namespace stitch::plan {

// The image is a view of a tensor whose last dimension is the channels, such as a linear layer's output.
bool has_channels_from_last(const Graph& graph, ValueId image);
// Every reader of the image transposes it to channels last, directly or after element-wise nodes.
bool is_wanted_channels_last(const Graph& graph, ValueId image);

}  // namespace stitch::plan
