// Limits within which every rewrite of the small graphs here applies.
#pragma once

#include "graph/rewrite_limits.h"

namespace stitch {

inline constexpr RewriteLimits sample_limits{.head = 128,
                                             .head_of_halves = 256,
                                             .few_queries = 8,
                                             .head_of_few = 512,
                                             .multiplied_head = 256,
                                             .multiplied_tokens = 256,
                                             .keys_of_feature = 8,
                                             .joined_channels = 32,
                                             .patch_channels = 4,
                                             .long_patch = 128,
                                             .merged_operations = 2e10,
                                             .cached_bytes = 5e7};

}  // namespace stitch
