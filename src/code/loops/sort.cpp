// One block per row sorts in shared memory; longer rows are sorted step by step in device memory.
#include <algorithm>
#include <bit>

#include "base/format.h"
#include "code/loops/loop.h"
#include "code/loops/reduction.h"
#include "code/loops/scatter.h"

namespace stitch::code::loops {

namespace {

int32_t sort_of(const Graph& graph, const plan::Region& region) {
  for (int32_t n : region.nodes) {
    Op op = graph.node(n).op;
    if (op == Op::sort || op == Op::topk) return n;
  }
  return -1;
}

struct Rows {
  const Node& node;
  Shape shape, kept_shape;
  size_t dim = 0;
  int64_t rows = 1, length = 1, keep = 1, padded = 1;
  bool descending = false;
  Type item;
  std::string before;  // the type of a functor
};

// Shared memory has room for the longest row of a range.
int64_t longest(const RegionRequest& request, const Node& node, size_t dim) {
  auto length = [&](const Graph& graph) {
    const Shape& shape = graph.type(node.operands[0]).shape;
    return shape.empty() ? 1 : shape[dim];
  };
  if (!request.context.varies(length)) return length(request.graph);
  const Instances& instances = *request.context.instances;
  int64_t out = length(instances.largest.graph);
  for (const Dimension& each : instances.dimensions)
    out = divided_up(out * each.most, instances.largest.sizes.at(each.name));
  return out;
}

Rows rows_of(const RegionRequest& request, int32_t number) {
  const Node& node = request.graph.node(number);
  Rows out{node, request.graph.type(node.operands[0]).shape, {}};
  int64_t dim = node.attributes.integer("dim");
  out.dim = static_cast<size_t>(dim < 0 ? dim + std::max<int64_t>(std::ssize(out.shape), 1) : dim);
  for (size_t d = 0; d < out.shape.size(); ++d)
    if (d != out.dim) out.kept_shape.push_back(out.shape[d]);
  out.rows = element_count(out.kept_shape);
  if (!out.shape.empty()) out.length = out.shape[out.dim];
  out.keep = node.op == Op::sort || out.shape.empty() ? out.length : node.attributes.integer("k");
  out.padded = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(longest(request, node, out.dim), 2))));
  out.descending = node.attributes.flag(node.op == Op::sort ? "descending" : "largest");
  DType dtype = request.graph.type(node.operands[0]).dtype;
  const Type type = dtype == DType::boolean ? int_type : computed_type(dtype);
  out.item = {format("stitch::SortItem<{}>", type.name), 2 * type.bytes};  // and a position
  out.before = format("stitch::SortsBefore<{}>", out.descending);
  return out;
}

Indices at_of(const Rows& rows, const Index& row, const Index& j) {
  Indices kept = unflatten(row, rows.kept_shape), out;
  size_t next = 0;
  for (size_t d = 0; d < rows.shape.size(); ++d) out.push_back(d == rows.dim ? j : kept[next++]);
  return out;
}

void write_results(LoopEmitter& emitter, const Rows& rows, const Index& row, const Index& j,
                   const Expression& item) {
  for (const Place& write : emitter.request().writes)
    emitter.store(write, at_of(rows, row, j),
                  member(item, write.value == rows.node.results[0] ? "value" : "position"));
}

// Element i of a row, or padding that sorts last.
void fill_item(LoopEmitter& emitter, const Rows& rows, const Expression& item) {
  const Expression i = named("i");
  emitter.add(assign(item, braced(rows.item.name, {0, named("INT_MAX")})));
  emitter.guard(i < rows.length);
  Expression x = emitter.value(rows.node.operands[0], at_of(rows, Index::variable("row", rows.rows),
                                                            Index::variable("i", rows.length)));
  emitter.add(assign(item, braced(rows.item.name, {x, static_cast_to(int_type, i)})));
  emitter.close();
}

Kernel in_shared_memory(const RegionRequest& request, const Rows& rows) {
  LoopEmitter emitter(request);
  const Type type = emitter.index_type();
  const int threads = static_cast<int>(std::clamp<int64_t>(rows.padded / 2, 32, 512));
  const Expression items = named("items"), item = element(items, named("i"));
  auto each_of = [&](int64_t count) {
    emitter.scopes().open({For{type, "i", named("lane"), count, threads}}, {"i"}, false);
  };
  emitter.add(define_shared(rows.item, "items", {rows.padded}));
  emitter.add(define_constant(type, "row", launch_index(type, "blockIdx.x")));
  emitter.add(define_constant(type, "lane", launch_index(type, "threadIdx.x")));
  each_of(rows.padded);
  fill_item(emitter, rows, item);
  emitter.close();
  emitter.add(evaluate(
      collective(format("stitch::sort_block<{}>", threads), {items, rows.padded, call(rows.before, {})})));
  each_of(rows.keep);
  write_results(emitter, rows, Index::variable("row", rows.rows), Index::variable("i", rows.keep), item);
  emitter.close();
  return kernel_of(emitter, request.name, threads, {rows.rows});
}

std::vector<Kernel> in_device_memory(const RegionRequest& request, const Rows& rows) {
  std::vector<Kernel> kernels;
  for (bool last : {false, true}) {
    LoopEmitter emitter(request);
    const Type type = emitter.index_type();
    const int64_t width = last ? rows.keep : rows.padded;
    emitter.add(define_constant(type, "row", launch_index(type, "blockIdx.y")));
    emitter.add(define_constant(type, "i",
                                launch_index(type, "blockIdx.x") * 256 + launch_index(type, "threadIdx.x")));
    emitter.add(only_if(named("i") >= width, {Return{}}));
    const Expression item = element("items", named("row") * rows.padded + named("i"));
    if (last)
      write_results(emitter, rows, Index::variable("row", rows.rows), Index::variable("i", rows.keep), item);
    else
      fill_item(emitter, rows, item);
    Kernel kernel = kernel_of(emitter, request.name + (last ? "_take" : "_fill"), 256,
                              {divided_up(width, 256), rows.rows});
    kernel.scratch = {"items"};
    if (!last) {
      kernel.written = {"items"};
      kernel.then = call(format("stitch::sort_rows<{}>", rows.before),
                         {named("items"), rows.rows, rows.padded, named("stream")});
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

Result<void> accepts_sort(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  int32_t sort = sort_of(graph, region);
  if (sort < 0) return work_error("technique", format("{}: nothing is sorted", region.name));
  const Node& node = graph.node(sort);
  for (int32_t n : region.nodes)
    if (n != sort && !is_expression(graph, n))
      return work_error("technique", format("{}: {} is not computed element by element", region.name,
                                            info(graph.node(n).op).name));
  for (ValueId id : region.writes)
    if (std::ranges::find(node.results, id) == node.results.end())
      return work_error("technique",
                        format("{}: '{}' is made from what is sorted", region.name, graph[id].name));
  return {};
}

Result<RegionCode> write_sort(const RegionRequest& request) {
  STITCH_CHECK(accepts_sort(request.context, request.region));
  Rows rows = rows_of(request, sort_of(request.graph, request.region));
  Workspace workspace;
  std::vector<Kernel> kernels;
  std::string how = "a block a row, in shared memory";
  if (rows.rows * rows.keep > 0) {
    if (rows.padded * rows.item.bytes <= 32 * 1024) {
      kernels = {in_shared_memory(request, rows)};
    } else if (rows.rows > 65535) {
      return work_error("technique", format("{}: {} rows of {} elements are too many to sort",
                                            request.region.name, rows.rows, rows.length));
    } else {
      workspace.add(rows.item, "items", rows.rows * rows.padded);
      kernels = in_device_memory(request, rows);
      how = "all rows step by step, in device memory";
    }
  }
  std::string idea = format("{}: {} elements a row by a bitonic network, {}. {} moved.", ops_text(request),
                            rows.length, how, traffic_text(request));
  return assemble(request, idea, kernels, workspace);
}

}  // namespace stitch::code::loops
