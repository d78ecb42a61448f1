// The techniques whose kernels are made from expressions: everything but products, convolutions, attention
// and recurrences.
#pragma once

#include <span>
#include <string_view>

#include "code/region_code.h"

namespace stitch::code::loops {

// A reduction of more elements is not done by one thread inside a loop.
inline constexpr int64_t most_inlined = 16;

std::span<const Family> loop_families();

// Is the node an expression of single elements of its operands? Reductions, scans, sorts and scatters aren't.
bool is_expression(const Graph& graph, int32_t node);

// Which technique writes these nodes as one region; an error says why none does.
Result<std::string_view> classify(const Graph& graph, const plan::Region& region);
// What a region's kernels move at an H200's copy bandwidth, and their starts; for choosing between regions.
double seconds_by_memory(const Graph& graph, const plan::Region& region);
// Can all of them live inside one element-wise kernel?
Result<void> can_fuse_into_loop(const Graph& graph, std::span<const int32_t> nodes);

}  // namespace stitch::code::loops
