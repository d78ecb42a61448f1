#include "code/loops/scan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/format.h"
#include "code/loops/families.h"
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

// `reversed`: results are written from the end, as after a flip.
std::optional<Kernel> scan_kernel(const RegionRequest& request, const Rows& rows, bool by_thread,
                                  bool reversed) {
  const Graph& graph = request.graph;
  const Node& node = graph.nodes[static_cast<size_t>(rows.reduction.node)];
  const RowPlan& plan = rows.plan;
  Running running = running_of(graph, node);
  ScanEmitter emitter(request);
  const char* type = emitter.index_type();
  int threads =
      by_thread ? 128 : std::clamp<int>(static_cast<int>(divided_up(plan.length, 4 * 32)) * 32, 32, 256);
  int64_t width = by_thread ? 1 : 4;

  Index row = Index::variable("row", plan.rows);
  if (by_thread) {
    emitter.line(format("const {0} row = static_cast<{0}>(blockIdx.x) * {1} + static_cast<{0}>(threadIdx.x);",
                        type, threads));
    emitter.line(format("if (row >= {}) return;", plan.rows));
  } else {
    emitter.line(format("const {0} row = static_cast<{0}>(blockIdx.x);", type));
  }
  Shape kept_shape = rows.reduction.kept_shape(), kept_in_order;
  for (size_t d : plan.kept_order) kept_in_order.push_back(kept_shape[d]);
  Indices in_order = unflatten(row, kept_in_order), kept(in_order.size());
  for (size_t i = 0; i < in_order.size(); ++i) kept[plan.kept_order[i]] = in_order[i];

  auto write_results = [&](const Indices& at, const std::string& run) {
    for (size_t i = 0; i < node.results.size(); ++i)
      emitter.scopes().remember(key_of(node.results[i], at), filled(running.results[i], "$run", run));
    for (const Place& write : request.writes) {
      Indices there = at;
      if (reversed) there[rows.dim] = Index(plan.length - 1) - at[rows.dim];
      if (write.shape != rows.reduction.space)
        there = unflatten(flatten(there, rows.reduction.space), write.shape);
      std::string text = emitter.value(write.value, there);
      emitter.store(write, there, text);
    }
  };
  auto at_of = [&](const Index& j) {
    return rows.reduction.space.empty() ? Indices{} : rows.reduction.space_at(kept, {j});
  };
  auto element = [&](const Index& j) {
    std::string x = emitter.value(node.operands[0], at_of(j));
    return filled(filled(running.of_element, "$x", x), "$at", j.text());
  };

  emitter.line(format("{} carry = {};", running.type, running.identity));
  if (by_thread) {
    // Of one element nothing depends on the loop, and all would be moved out of it.
    Index j =
        plan.length > 1 ? emitter.open_loop("j", "0", std::to_string(plan.length), 1, plan.length) : Index(0);
    emitter.line(format("carry = {}(carry, {});", running.combine, element(j)));
    write_results(at_of(j), "carry");
    if (plan.length > 1) emitter.close();
  } else {
    // Each thread scans a few neighbours, the block scans their totals, and the carry goes on.
    int64_t chunk = width * threads;
    emitter.scopes().open(format("for ({} chunk = 0; chunk < {}; chunk += {})", type, plan.length, chunk),
                          {"chunk"}, false);
    emitter.line(format("{} mine[{}];", running.type, width));
    emitter.line(format("{} total = {};", running.type, running.identity));
    auto each = [&](const auto& body) {
      emitter.scopes().open(format("#pragma unroll\nfor (int e = 0; e < {}; ++e)", width), {"e"}, false);
      Index j =
          emitter.declare_index("j", format("chunk + static_cast<{}>(threadIdx.x) * {} + e", type, width),
                                std::max<int64_t>(plan.length, 2));
      emitter.guard(format("{} < {}", j.text(), plan.length));
      body(plan.length > 1 ? j : Index(0));
      emitter.close();
      emitter.close();
    };
    each([&](const Index& j) {
      emitter.line(format("total = {}(total, {});", running.combine, element(j)));
      emitter.line("mine[e] = total;");
    });
    emitter.line(format("const {} before = stitch::scan_block<{}>(total, carry, {});", running.type, threads,
                        running.combine));
    each([&](const Index& j) {
      emitter.line(format("const {} run = {}(before, mine[e]);", running.type, running.combine));
      write_results(at_of(j), "run");
    });
    emitter.close();
  }
  if (emitter.failed) return std::nullopt;
  Kernel kernel;
  kernel.name = request.name;
  kernel.threads = threads;
  kernel.blocks = std::to_string(by_thread ? divided_up(plan.rows, threads) : plan.rows);
  kernel.body = emitter.scopes().take(2);
  kernel.used = emitter.used();
  return kernel;
}

}  // namespace

Result<void> accepts_scan(const Graph& graph, const plan::Region& region) {
  int32_t scan = scan_of(graph, region);
  if (scan == -1) return work_error("technique", format("{}: there is no scan", region.name));
  if (scan < 0) return work_error("technique", format("{}: more than one scan", region.name));
  for (int32_t n : region.nodes)
    if (n != scan && !is_expression(graph, n))
      return work_error("technique", format("{}: {} is not computed element by element", region.name,
                                            info(graph.nodes[static_cast<size_t>(n)].op).name));
  RegionRequest request = plain_request(graph, region);
  auto written = write_scan(request);
  if (!written) return written.error();
  return {};
}

Result<RegionCode> write_scan(const RegionRequest& request) {
  int32_t scan = scan_of(request.graph, request.region);
  Rows rows = rows_of(request, scan);
  bool by_thread = rows.plan.column || rows.plan.length <= 32;
  int64_t count = rows.plan.rows * rows.plan.length;
  for (const Place& write : request.writes)
    if (element_count(write.shape) != count)
      return work_error("technique", format("{}: '{}' has other elements than the scan", request.region.name,
                                            request.graph[write.value].name));
  if (count == 0) return assemble(request, "Nothing to do: there are no elements.", {}, {});
  for (bool reversed : {false, true}) {
    if (reversed && rows.reduction.space.empty()) break;
    std::optional<Kernel> kernel = scan_kernel(request, rows, by_thread, reversed);
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
