#include "code/loops/scan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/format.h"
#include "code/loops/is_expression.h"
#include "code/loops/kernel.h"
#include "code/loops/loop.h"
#include "code/loops/row_plan.h"

namespace stitch::code::loops {

namespace {

int32_t scan_of(const Graph& graph, const plan::Region& region) {
  int32_t found = -1;
  for (int32_t n : region.nodes)
    if (info(graph.nodes[static_cast<size_t>(n)].op).family == stitch::Family::scan)
      found = found < 0 ? n : -2;
  return found;
}

// What runs along the row.
struct Running {
  std::string type, identity, combine;
  std::string of_element;            // $x at $at as a running value
  std::vector<std::string> results;  // of the running value $run
};

std::string filled(std::string text, std::string_view mark, const std::string& with) {
  for (size_t i = text.find(mark); i != std::string::npos; i = text.find(mark, i + with.size()))
    text.replace(i, mark.size(), with);
  return text;
}

Running running_of(const Graph& graph, const Node& node) {
  DType dtype = graph.type(node.operands[0]).dtype;
  std::string type = computed_type(dtype);
  bool floating = is_floating(dtype);
  std::string back = format("stitch::wrapped<{}>(static_cast<int64_t>($run))", stored_type(dtype));
  switch (node.op) {
    case Op::cumsum:
    case Op::cumprod: {
      bool sum = node.op == Op::cumsum;
      std::string combine = sum ? "stitch::Add()" : "stitch::Multiply()";
      if (floating) return {type, literal(sum ? 0 : 1, dtype), combine, "$x", {"$run"}};
      return {"uint64_t", sum ? "uint64_t{0}" : "uint64_t{1}", combine, "static_cast<uint64_t>($x)", {back}};
    }
    case Op::logcumsumexp: return {type, literal(-INFINITY, dtype), "stitch::LogAddExp()", "$x", {"$run"}};
    default: {
      bool largest = node.op == Op::cummax;
      std::string full = format("stitch::Latest<{}, {}>", type, largest);
      std::string lowest = floating            ? literal(largest ? -INFINITY : INFINITY, dtype)
                           : type == "int64_t" ? (largest ? "INT64_MIN" : "INT64_MAX")
                                               : (largest ? "INT32_MIN" : "INT32_MAX");
      return {full,
              format("{}{{{}, 0}}", full, lowest),
              "stitch::Merged()",
              format("{}{{$x, $at}}", full),
              {"$run.value", "$run.position"}};
    }
  }
}

// What the scan gives is known where it is made, and nowhere else.
class ScanEmitter : public LoopEmitter {
 public:
  using LoopEmitter::LoopEmitter;
  bool failed = false;

 protected:
  std::string foreign(const Node&, const Indices&) override {
    failed = true;
    return "0";
  }
};

struct Rows {
  Reduction reduction;
  RowPlan plan;
  size_t dim;
};

Rows rows_of(const RegionRequest& request, int32_t number) {
  const Node& node = request.graph.nodes[static_cast<size_t>(number)];
  const Shape& shape = request.graph.type(node.operands[0]).shape;
  Rows rows{{number, node.operands[0], shape, std::vector<bool>(shape.size(), false)}, {}, 0};
  int64_t dim = node.attributes.integer("dim");
  rows.dim = static_cast<size_t>(dim < 0 ? dim + std::ssize(shape) : dim);
  if (!shape.empty()) rows.reduction.along[rows.dim] = true;
  rows.plan = plan_rows(request, rows.reduction);
  return rows;
}

// How the block walks a row. Backwards is for results that are used from the end, as after a flip; late by
// one is for results that begin with something else, as after a concatenation with zeros: then the element
// that stands in a result's place is the first that it doesn't count.
struct Walk {
  bool backwards = false, late = false;
};

// What a scan that is late by one may read at every place of its results: the whole row of which a slice
// leaves out the end.
std::optional<ValueId> source_of_late(const RegionRequest& request, const Rows& rows) {
  const Graph& graph = request.graph;
  for (int32_t n : request.region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (node.op != Op::slice || node.results[0] != rows.reduction.operand) continue;
    const Shape& shape = graph.type(node.operands[0]).shape;
    int64_t dim = node.attributes.integer("dim");
    if (static_cast<size_t>(dim < 0 ? dim + std::ssize(shape) : dim) == rows.dim &&
        node.attributes.integer("start") == 0 && node.attributes.integer("step") == 1 &&
        shape[rows.dim] > rows.plan.length)
      return node.operands[0];
  }
  return std::nullopt;
}

Indices kept_of_row(const Rows& rows) {
  Index row = Index::variable("row", rows.plan.rows);
  Shape kept_shape = rows.reduction.kept_shape(), kept_in_order;
  for (size_t d : rows.plan.kept_order) kept_in_order.push_back(kept_shape[d]);
  Indices in_order = unflatten(row, kept_in_order), kept(in_order.size());
  for (size_t i = 0; i < in_order.size(); ++i) kept[rows.plan.kept_order[i]] = in_order[i];
  return kept;
}

// Writes every result that has an element at scan position `at`; `there` is where it stands in them.
void write_results(ScanEmitter& emitter, const Rows& rows, const Running& running, const Indices& at,
                   const Indices& there, const Shape& shape, const std::string& run) {
  const RegionRequest& request = emitter.request();
  const Node& node = request.graph.nodes[static_cast<size_t>(rows.reduction.node)];
  for (size_t i = 0; i < node.results.size(); ++i)
    emitter.scopes().remember(key_of(node.results[i], at), filled(running.results[i], "$run", run));
  for (const Place& write : request.writes) {
    Indices place = write.shape == shape ? there : unflatten(flatten(there, shape), write.shape);
    std::string text = emitter.value(write.value, place);
    emitter.store(write, place, text);
  }
}

// A thread along each row: neighbouring rows lie side by side, or rows are short.
std::optional<Kernel> kernel_by_threads(const RegionRequest& request, const Rows& rows, Walk walk) {
  if (walk.late) return std::nullopt;
  const RowPlan& plan = rows.plan;
  const Node& node = request.graph.nodes[static_cast<size_t>(rows.reduction.node)];
  Running running = running_of(request.graph, node);
  ScanEmitter emitter(request);
  constexpr int threads = 128;
  emitter.line(format("const {0} row = static_cast<{0}>(blockIdx.x) * {1} + static_cast<{0}>(threadIdx.x);",
                      emitter.index_type(), threads));
  emitter.line(format("if (row >= {}) return;", plan.rows));
  Indices kept = kept_of_row(rows);
  emitter.line(format("{} carry = {};", running.type, running.identity));
  // Of one element nothing depends on the loop, and all would be moved out of it.
  Index j =
      plan.length > 1 ? emitter.open_loop("j", "0", std::to_string(plan.length), 1, plan.length) : Index(0);
  Indices at = rows.reduction.space.empty() ? Indices{} : rows.reduction.space_at(kept, {j}), there = at;
  if (walk.backwards) there[rows.dim] = Index(plan.length - 1) - at[rows.dim];
  std::string x = emitter.value(node.operands[0], at);
  emitter.line(format("carry = {}(carry, {});", running.combine,
                      filled(filled(running.of_element, "$x", x), "$at", j.text())));
  write_results(emitter, rows, running, at, there, rows.reduction.space, "carry");
  if (plan.length > 1) emitter.close();
  if (emitter.failed) return std::nullopt;
  Kernel kernel;
  kernel.name = request.name;
  kernel.threads = threads;
  kernel.blocks = std::to_string(divided_up(plan.rows, threads));
  kernel.body = emitter.scopes().take(2);
  kernel.used = emitter.used();
  return kernel;
}

// A block along each row: each thread scans neighbouring elements, the block scans their totals, and the
// carry goes on to the next chunk.
std::optional<Attempt> kernel_by_block(const RegionRequest& request, const Rows& rows, Walk walk,
                                       int64_t width) {
  const RowPlan& plan = rows.plan;
  const Node& node = request.graph.nodes[static_cast<size_t>(rows.reduction.node)];
  Running running = running_of(request.graph, node);
  int64_t length = plan.length + (walk.late ? 1 : 0);
  ValueId source = node.operands[0];
  bool whole = !walk.late;  // every place has an element
  if (walk.late)
    if (auto found = source_of_late(request, rows)) source = *found, whole = true;
  if (length % width != 0 || length == 1) return std::nullopt;
  ScanEmitter emitter(request);
  const char* type = emitter.index_type();
  // At least four elements a thread, in packs or not.
  int64_t packs = length / width, turns = std::max<int64_t>(4 / width, 1);
  int threads = std::clamp<int>(static_cast<int>(divided_up(packs, 32 * turns)) * 32, 32, 256);
  int64_t per_thread = turns * width, chunk = turns * threads;
  emitter.line(format("const {0} row = static_cast<{0}>(blockIdx.x);", type));
  Indices kept = kept_of_row(rows);
  Shape shape = rows.reduction.space;
  shape[rows.dim] = length;

  auto declare_pack = [&] {
    std::string place = turns > 1 ? format("chunk + static_cast<{}>(threadIdx.x) * {} + turn", type, turns)
                                  : format("chunk + static_cast<{}>(threadIdx.x)", type);
    emitter.line(
        format("const {} pack = {};", type, walk.backwards ? format("{} - ({})", packs - 1, place) : place));
    emitter.scopes().introduce("pack");
  };
  auto each = [&](const auto& body) {
    if (turns > 1) {
      emitter.scopes().open(format("#pragma unroll\nfor (int turn = 0; turn < {}; ++turn)", turns), {"turn"},
                            false);
      declare_pack();
    }
    emitter.guard(walk.backwards ? "pack >= 0" : format("pack < {}", packs));
    Index pack = Index::variable("pack", packs), lane = emitter.open_pack(width);
    std::string mine = format("mine[{}]", width > 1 && turns > 1 ? format("turn * {} + v", width)
                                          : width > 1            ? "v"
                                                                 : "turn");
    body(pack * width + lane, mine);
    emitter.close_pack();
    emitter.close();
    if (turns > 1) emitter.close();
  };

  emitter.line(format("{} carry = {};", running.type, running.identity));
  emitter.scopes().open(format("for ({} chunk = 0; chunk < {}; chunk += {})", type, packs, chunk), {"chunk"},
                        false);
  if (turns == 1) declare_pack();
  emitter.line(format("{} mine[{}];", running.type, per_thread));
  emitter.line("#pragma unroll");
  emitter.line(format("for (int e = 0; e < {}; ++e) mine[e] = {};", per_thread, running.identity));
  each([&](const Index& place, const std::string& mine) {
    Index j = walk.backwards ? Index(length - 1) - place : place;
    Indices at = rows.reduction.space_at(kept, {j});
    if (!whole) emitter.guard(format("{} < {}", j.text(), plan.length));
    std::string x = emitter.value(source, at);
    emitter.line(format("{} = {};", mine, filled(filled(running.of_element, "$x", x), "$at", j.text())));
    if (!whole) emitter.close();
  });
  // In the order of the scan: within a pack from its end, if the row is walked from its end.
  bool swapped = walk.backwards && width > 1;
  std::string at = swapped ? format("mine[e ^ {}]", width - 1) : "mine[e]";
  emitter.line(format("{} total = {};", running.type, running.identity));
  emitter.line("#pragma unroll");
  emitter.line(format("for (int e = 0; e < {}; ++e) {{", per_thread));
  if (walk.late) {
    emitter.line(format("  const {} own = {};", running.type, at));
    emitter.line(format("  {} = total;", at));
    emitter.line(format("  total = {}(total, own);", running.combine));
  } else {
    emitter.line(format("  total = {}(total, {});", running.combine, at));
    emitter.line(format("  {} = total;", at));
  }
  emitter.line("}");
  emitter.line(format("const {} before = stitch::scan_block<{}>(total, carry, {});", running.type, threads,
                      running.combine));
  each([&](const Index& place, const std::string& mine) {
    Index j = (walk.backwards ? Index(length - 1) - place : place) - int64_t{walk.late};
    Indices at_scan = rows.reduction.space_at(kept, {j}), there = at_scan;
    there[rows.dim] = place;
    emitter.line(format("const {} run = {}(before, {});", running.type, running.combine, mine));
    write_results(emitter, rows, running, at_scan, there, shape, "run");
  });
  emitter.close();
  if (emitter.failed) return std::nullopt;
  Kernel kernel;
  kernel.name = request.name;
  kernel.threads = threads;
  kernel.blocks = std::to_string(plan.rows);
  kernel.body = emitter.scopes().take(2);
  kernel.used = emitter.used();
  kernel.packed = emitter.packed();
  kernel.width = width;
  return Attempt(std::move(kernel), emitter);
}

}  // namespace

Result<void> accepts_scan(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  int32_t scan = scan_of(graph, region);
  if (scan == -1) return work_error("technique", format("{}: there is no scan", region.name));
  if (scan < 0) return work_error("technique", format("{}: more than one scan", region.name));
  for (int32_t n : region.nodes)
    if (n != scan && !is_expression(graph, n))
      return work_error("technique", format("{}: {} is not computed element by element", region.name,
                                            info(graph.nodes[static_cast<size_t>(n)].op).name));
  RegionRequest request = plain_request(context, region);
  auto written = write_scan(request);
  if (!written) return written.error();
  return {};
}

Result<RegionCode> write_scan(const RegionRequest& request) {
  int32_t scan = scan_of(request.graph, request.region);
  Rows rows = rows_of(request, scan);
  const RowPlan& plan = rows.plan;
  bool by_thread = plan.column || plan.length <= 32;
  int64_t count = plan.rows * plan.length;
  bool late = !request.writes.empty() && plan.rows > 0;
  for (const Place& write : request.writes) {
    int64_t elements = element_count(write.shape);
    late &= elements == plan.rows * (plan.length + 1);
    if (elements != count && !late)
      return work_error("technique", format("{}: '{}' has other elements than the scan", request.region.name,
                                            request.graph[write.value].name));
  }
  if (count == 0 && !late) return assemble(request, "Nothing to do: there are no elements.", {}, {});
  int64_t largest = 1;
  for (const auto* places : {&request.reads, &request.writes})
    for (const Place& place : *places) largest = std::max(largest, size_of(place.dtype));
  for (bool backwards : {false, true}) {
    if (rows.reduction.space.empty() && (backwards || late)) break;
    Walk walk{backwards, late};
    std::optional<Kernel> kernel;
    if (by_thread) {
      kernel = kernel_by_threads(request, rows, walk);
    } else {
      std::optional<Attempt> best;
      for (int64_t width = std::min<int64_t>(16 / largest, 4); width >= 1; width /= 2) {
        std::optional<Attempt> next = kernel_by_block(request, rows, walk, width);
        if (next && next->pays() && (!best || next->better_than(*best))) best = std::move(next);
      }
      if (best) kernel = std::move(best->kernel);
    }
    if (!kernel) continue;
    std::string idea = format("{}: {}. {} moved.", ops_text(request),
                              by_thread ? "a thread along each row, neighbouring rows in neighbouring threads"
                                        : "a block along each row, chunk by chunk",
                              traffic_text(request));
    return assemble(request, idea, {std::move(*kernel)}, {});
  }
  return work_error("technique", format("{}: the results are used in another order than they are made",
                                        request.region.name));
}

}  // namespace stitch::code::loops
