// Where an image's channels are, followed through views and what is computed element by element.
#pragma once

#include "graph/graph.h"

namespace stitch::plan {

// The image is a view of a tensor whose last dimension are the channels: pixel after pixel, as linear layers
// have them.
bool has_channels_from_last(const Graph& graph, ValueId image);
// Everybody who reads the image transposes it, sooner or later, so that its channels come last.
bool is_wanted_channels_last(const Graph& graph, ValueId image);

}  // namespace stitch::plan
