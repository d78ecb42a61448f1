// The pass runner.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/rewrite_limits.h"

namespace stitch {

// Changes the graph: true if it did. Some rewrites pay only within limits.
using Rewrite = std::variant<bool (*)(Graph&), bool (*)(Graph&, const RewriteLimits&)>;
bool apply(const Rewrite& rewrite, Graph& graph, const RewriteLimits& limits);

struct Pass {
  std::string_view name;
  std::string_view why;  // why it comes at this place
  Rewrite rewrite;
};

using PassNames = std::set<std::string, std::less<>>;

struct PassOptions {
  PassNames skip;
  RewriteLimits limits;
  std::function<void(const Pass&, const Graph& before, const Graph& after)> on_change;  // e.g. to dump both
};

struct PassTiming {
  std::string_view name;
  double seconds = 0;
  size_t nodes_before = 0, nodes_after = 0;
  bool changed = false;
};
using PassReport = std::vector<PassTiming>;

// Runs every pass in order; a graph that is invalid after one is a Bug that names the pass.
// STITCHCUDA_SKIP_PASSES=a,b leaves passes out, STITCHCUDA_DUMP_PASSES=1 prints graphs that changed.
PassReport run_pipeline(Graph& graph, std::span<const Pass> pipeline, PassOptions options = {});

std::span<const Pass> cleanup_pipeline();
// Passes whose result is equal over the reals, not bit for bit.
PassNames algebraic_passes();

bool remove_dead_code(Graph& graph);
bool fold_constants(Graph& graph, const RewriteLimits& limits);
bool recognize_attention(Graph& graph, const RewriteLimits& limits);
bool recognize_gelu(Graph& graph);
bool pair_einsums(Graph& graph);
bool share_common_subexpressions(Graph& graph);
bool drop_plain_masks(Graph& graph);
bool multiply_wide_heads(Graph& graph, const RewriteLimits& limits);
bool multiply_slices(Graph& graph);
bool multiply_repeated_rows_once(Graph& graph);
bool canonicalize_views(Graph& graph);
bool spread_rows_first(Graph& graph);
bool merge_products(Graph& graph, const RewriteLimits& limits);
bool order_rows_for_products(Graph& graph);
bool roll_recurrences(Graph& graph);
bool compute_stacked_steps_at_once(Graph& graph);
bool drop_single_reductions(Graph& graph);
bool pool_weights_of_products(Graph& graph);
bool pool_before_convolutions(Graph& graph);
bool fold_batch_norms(Graph& graph);
bool multiply_patches(Graph& graph, const RewriteLimits& limits);
bool multiply_windows(Graph& graph);
bool join_convolutions(Graph& graph, const RewriteLimits& limits);
bool set_biases_apart(Graph& graph);
bool move_slices_first(Graph& graph);
bool sink_permutes(Graph& graph);
bool scale_weights_of_products(Graph& graph);
bool give_own_views(Graph& graph);
bool copy_shared_images(Graph& graph, const RewriteLimits& limits);

// Replaces every use of a value by a use of another.
void replace_uses(Graph& graph, std::span<const ValueId> replacement);
// Moves nodes that a pass appended before their first user.
void sort_nodes(Graph& graph);

}  // namespace stitch
