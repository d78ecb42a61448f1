#include "passes/pipeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ranges>

#include "base/text.h"
#include "graph/text.h"

namespace stitch {

std::span<const Pass> cleanup_pipeline() {
  static constexpr Pass pipeline[] = {
      {"canonical-views",
       "first: importers write views step by step, and every later pass sees fewer of them",
       canonicalize_views},
      {"constant-folding", "before sharing: folded values are equal more often than the ops that made them",
       fold_constants},
      {"attention", "after folding: scales are numbers by then; before sharing: its scores must be its own",
       recognize_attention},
      {"gelu", "after folding: its numbers are numbers by then", recognize_gelu},
      {"algebra-pairwise-einsums", "before sharing: two einsums often scale the same operand", pair_einsums},
      {"common-subexpressions", "masks and tables are built anew in every layer",
       share_common_subexpressions},
      {"plain-masks", "after sharing: a mask is looked at once for all layers", drop_plain_masks},
      {"wide-attention", "behind plain-masks: with a mask it stays attention", multiply_wide_heads},
      {"algebra-single-reductions", "before pools of products: what is left of those is often one element",
       drop_single_reductions},
      {"algebra-pooled-products", "after sharing: a product that two want is not taken apart",
       pool_weights_of_products},
      {"algebra-pooled-convolutions", "after sharing: a convolution that two want is not moved",
       pool_before_convolutions},
      {"algebra-folded-batch-norms",
       "after sharing: a convolution that two want keeps its filters; before transposed-biases: it makes "
       "some",
       fold_batch_norms},
      {"algebra-joined-convolutions", "behind batch norms, which stand between convolutions and a concat",
       join_convolutions},
      {"algebra-patch-convolutions", "behind batch norms, which go into filters", multiply_patches},
      {"algebra-window-products",
       "after attention, which has sums of its own; before the views are cleaned up: it leaves some behind",
       multiply_windows},
      {"transposed-biases", "after pools of convolutions, which know where a bias belongs", set_biases_apart},
      {"canonical-views-again", "sharing and folding leave views of views behind", canonicalize_views},
      {"algebra-sliced-products", "before merged-products, whose slices are what several want",
       multiply_slices},
      {"algebra-repeated-rows",
       "behind the views, and before merged-products: unrolled steps share a product",
       multiply_repeated_rows_once},
      {"whole-products", "behind the views: one before and one after a product are left", spread_rows_first},
      {"rows-in-order", "behind whole-products: permutations then stand right beside products",
       order_rows_for_products},
      {"merged-products", "behind whole-products: what they read is one value by then", merge_products},
      {"unrolled-recurrences", "behind the views: a step's input is then one slice and one reshape",
       roll_recurrences},
      {"stacked-steps", "behind unrolled-recurrences, whose states are slices of one value",
       compute_stacked_steps_at_once},
      {"slices-first", "behind everything that recognises views by their order", move_slices_first},
      {"sunken-permutes",
       "behind the views, which would undo it: a convolution's result is permuted there and back",
       sink_permutes},
      {"algebra-scaled-products", "behind sunken-permutes: a scale then stands right behind its product",
       scale_weights_of_products},
      {"own-views", "behind sharing, which would undo it", give_own_views},
      {"shared-images", "behind the views, which would undo it: a copy computes nothing", copy_shared_images},
      {"dead-code", "last: everything above leaves what nobody uses any more", remove_dead_code},
  };
  return pipeline;
}

PassNames algebraic_passes() {
  PassNames out;
  for (const Pass& pass : cleanup_pipeline())
    if (pass.name.starts_with("algebra-")) out.emplace(pass.name);
  return out;
}

namespace {

void add_from_environment(PassOptions& options) {
  if (const char* names = std::getenv("STITCHCUDA_SKIP_PASSES"))
    for (const std::string& name : split(names, ',')) options.skip.insert(trim(name));
  const char* dump = std::getenv("STITCHCUDA_DUMP_PASSES");
  if (dump && *dump && !options.on_change)
    options.on_change = [](const Pass& pass, const Graph&, const Graph& after) {
      std::fprintf(stderr, "# after %s\n%s\n", std::string(pass.name).c_str(), print_graph(after).c_str());
    };
}

}  // namespace

bool apply(const Rewrite& rewrite, Graph& graph, const RewriteLimits& limits) {
  if (const auto* within = std::get_if<bool (*)(Graph&, const RewriteLimits&)>(&rewrite))
    return (*within)(graph, limits);
  return std::get<bool (*)(Graph&)>(rewrite)(graph);
}

PassReport run_pipeline(Graph& graph, std::span<const Pass> pipeline, PassOptions options) {
  add_from_environment(options);
  PassReport report;
  for (const Pass& pass : pipeline) {
    if (options.skip.contains(pass.name)) continue;
    Graph before;
    if (options.on_change) before = graph;
    PassTiming timing{pass.name, 0, graph.nodes.size(), 0, false};
    auto begin = std::chrono::steady_clock::now();
    timing.changed = apply(pass.rewrite, graph, options.limits);
    timing.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    timing.nodes_after = graph.nodes.size();
    if (auto valid = verify(graph); !valid)
      throw Bug(format("the pass {} left an invalid graph: {}\n{}", pass.name, valid.error().text(),
                       print_graph(graph)));
    if (timing.changed && options.on_change) options.on_change(pass, before, graph);
    report.push_back(timing);
  }
  return report;
}

void replace_uses(Graph& graph, std::span<const ValueId> replacement) {
  auto follow = [&](ValueId& id) {
    while (id != ValueId::none && replacement[index_of(id)] != id) id = replacement[index_of(id)];
  };
  for (Node& node : graph.nodes)
    for (ValueId& id : node.operands) follow(id);
  for (ValueId& id : graph.outputs) follow(id);
  for (Update& update : graph.updates) follow(update.value);
}

void sort_nodes(Graph& graph) {
  std::vector<int32_t> made_by = producers(graph);
  std::vector<bool> placed(graph.nodes.size());
  std::vector<Node> sorted;
  for (size_t first = 0; first < graph.nodes.size(); ++first)
    for (std::vector<size_t> open = {first}; !open.empty();) {
      size_t at = open.back(), waiting = open.size();
      if (!placed[at])
        for (ValueId id : std::views::reverse(graph.nodes[at].operands))
          if (int32_t maker = id == ValueId::none ? -1 : made_by[index_of(id)];
              maker >= 0 && !placed[static_cast<size_t>(maker)])
            open.push_back(static_cast<size_t>(maker));
      if (open.size() > waiting) continue;
      open.pop_back();
      if (placed[at]) continue;
      placed[at] = true;
      sorted.push_back(graph.nodes[at]);
    }
  graph.nodes = std::move(sorted);
}

}  // namespace stitch
