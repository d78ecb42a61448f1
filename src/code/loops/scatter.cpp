#include "code/loops/scatter.h"

#include "base/format.h"
#include "code/loops/loop.h"
#include "code/loops/reduction.h"

namespace stitch::code::loops {

Result<void> accepts_scatter(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  int scatters = 0;
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    bool scatter = node.op == Op::scatter || node.op == Op::index_put;
    scatters += scatter;
    auto reduction = reduction_of(graph, n);
    if (!scatter && !is_expression(graph, n) && !(reduction && reduction->length() <= most_inlined))
      return work_error("technique",
                        format("{}: {} is not computed element by element", region.name, info(node.op).name));
  }
  if (scatters != 1)
    return work_error("technique", format("{}: {} scatters, not one", region.name, scatters));
  return {};
}

namespace {

// Computes each source's target row; loops_scatter.h then groups them.
Kernel targets_kernel(const RegionRequest& request, const Node& node, const SourceLists& lists) {
  LoopEmitter emitter(request);
  const Type type = emitter.index_type();
  emitter.add(define_constant(type, "element", thread_number(type, named("blockIdx.x"))));
  emitter.add(only_if(named("element") >= lists.sources, {Return{}}));
  const Index source = Index::variable("element", lists.sources);
  emitter.add(assign(element("list_targets", source), target_of_source(emitter, node, source)));
  Kernel kernel = kernel_of(emitter, request.name + "_targets", 256, {divided_up(lists.sources, 256)});
  kernel.scratch = {"list_targets"};
  kernel.written = {"list_targets"};
  kernel.then = call("stitch::group_sources",
                     {named("list_targets"), named("list_placed"), named("list_counts"), named("list_starts"),
                      named("list_order"), lists.sources, lists.rows, named("stream")});
  return kernel;
}

// Threads per list: several if there are few threads for many sources.
int64_t list_parts(const RegionRequest& request, const Node& node, const SourceLists& lists) {
  constexpr int64_t usual_width = 4, shortest_part = 8, most = 32, threads_of_multiprocessor = 2048;
  const int64_t vectors = request.graph.type(node.results[0]).elements() / usual_width,
                average = lists.sources / lists.rows;
  int64_t parts = 1;
  while (parts < most && average / (2 * parts) >= shortest_part &&
         vectors * 2 * parts <= request.context.gpu.sms * threads_of_multiprocessor)
    parts *= 2;
  return parts;
}

}  // namespace

Result<RegionCode> write_scatter(const RegionRequest& request) {
  STITCH_CHECK(accepts_scatter(request.context, request.region));
  const Node* node = nullptr;
  for (int32_t n : request.region.nodes) {
    const Node& each = request.graph.node(n);
    if (each.op == Op::scatter || each.op == Op::index_put) node = &each;
  }
  std::optional<SourceLists> lists = source_lists(request.graph, *node);
  const RegionRequest& deciding = request.deciding();
  const auto decided = source_lists(deciding.graph, deciding.graph.node(request.graph.number_of(*node)));
  if (!decided || decided->few) lists.reset();
  auto make = [&] {
    auto emitter = std::make_unique<LoopEmitter>(request);
    if (lists) {
      emitter->grouped_sources = true;
      emitter->wanted_list_parts = list_parts(deciding, *node, *decided);
      emitter->scratch = {"list_starts", "list_counts", "list_order"};
    }
    return emitter;
  };
  Preparation preparation{.name = "lists"};
  if (lists) {
    Workspace& memory = preparation.memory;
    memory.add(int_type, "list_targets", lists->sources);
    memory.add(int_type, "list_placed", lists->sources);
    memory.add(int_type, "list_counts", lists->rows + 1);
    memory.add(int_type, "list_starts", lists->rows);
    memory.add(int_type, "list_order", lists->sources);
    preparation.kernels.push_back(targets_kernel(request, *node, *lists));
  }
  std::string idea = format(
      "{}: each result element {}, in their order: {}equal inputs give equal outputs. {} moved.",
      ops_text(request),
      lists ? "goes through the list of sources that name its row" : "looks for the sources that name it",
      lists ? "" : "no atomics, and ", traffic_text(request));
  return assemble(request, idea, loop_kernels(request, make), {}, lists ? &preparation : nullptr);
}

}  // namespace stitch::code::loops
