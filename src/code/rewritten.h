// A region's source that is a graph: another computation of the same results, in the graph's own language,
// which a technique of the catalogue writes. The way to say algebra, a cheaper formula, or what stands before
// and behind a main loop, without writing CUDA.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "code/technique.h"

namespace stitch::code {

// Is a source a graph's text? Else it is CUDA.
bool is_graph(std::string_view source);

// What a region computes, as such a source: leaves have the names of the region's parameters.
std::string graph_of_region(const RegionRequest& request);

// Such a source, read: it has the region's results, and no leaves but the region's.
struct Rewriting {
  Graph graph;                        // leaves named by position: read0, weight0
  std::map<ValueId, ValueId> leaves;  // values of the region's graph
};
// Leaves by the names of the region's parameters, or by position. An error says, for the author, what doesn't
// fit.
Result<Rewriting> rewriting_in(std::string_view source, const RegionRequest& request);

// The graph's name says how it is computed: "any", the fastest by the cost model; or a technique, perhaps
// followed by the words of an offer and by knobs: "conv.cudnn_graph half channels_last".
Result<RegionCode> write_rewriting(std::string_view source, const RegionRequest& request);
// The cost model's seconds a call, in which such a region takes what its graph does, not its nodes.
double estimate_rewritten(const plan::Context& context, const plan::Plan& plan);

// For prompts: what such a source may be.
std::string_view rewriting_in_words();

}  // namespace stitch::code
