#include "code/loops/techniques.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/format.h"
#include "code/loops/kernel.h"
#include "code/loops/loop.h"
#include "code/loops/reduction.h"
#include "code/loops/row_plan.h"

namespace stitch::code::loops {

namespace {

int32_t scan_of(const Graph& graph, const plan::Region& region) {
  int32_t found = -1;
  for (int32_t n : region.nodes)
    if (info(graph.node(n).op).family == stitch::Family::scan) found = found < 0 ? n : -2;
  return found;
}

// The scanned value.
struct Running {
  Type type;
  Expression identity;
  std::string combine;  // the type of a functor
  // Converts an element at a position to a scan value, and a scan value to results.
  std::function<Expression(const Expression& x, const Expression& at)> of_element;
  std::function<Expressions(const Expression& run)> results;

  Expression combined(const Expression& a, const Expression& b) const { return call(combine + "()", {a, b}); }
};

Running running_of(const Graph& graph, const Node& node) {
  const DType dtype = graph.type(node.operands[0]).dtype;
  const Type type = computed_type(dtype);
  auto itself = [](const Expression& x, const Expression&) { return x; };
  auto alone = [](const Expression& run) { return Expressions{run}; };
  switch (node.op) {
    case Op::cumsum:
    case Op::cumprod: {
      const bool sum = node.op == Op::cumsum;
      const char* combine = sum ? "stitch::Add" : "stitch::Multiply";
      if (is_floating(dtype)) return {type, number(sum ? 0 : 1, dtype), combine, itself, alone};
      const std::string back = format("stitch::wrapped<{}>", stored_type(dtype).name);
      return {
          uint64_type, braced("uint64_t", {sum ? 0 : 1}), combine,
          [](const Expression& x, const Expression&) { return static_cast_to(uint64_type, x); },
          [=](const Expression& run) { return Expressions{call(back, {static_cast_to(int64_type, run)})}; }};
    }
    case Op::logcumsumexp: return {type, number(-INFINITY, dtype), "stitch::LogAddExp", itself, alone};
    default: {
      const bool largest = node.op == Op::cummax;
      const Type full{format("stitch::Latest<{}, {}>", type.name, largest)};
      const Expression lowest = extreme_of(dtype == DType::boolean ? DType::i32 : dtype, largest);
      return {full, braced(full.name, {lowest, 0}), "stitch::Merged",
              [=](const Expression& x, const Expression& at) {
                return braced(full.name, {x, at});
              },
              [](const Expression& run) {
                return Expressions{member(run, "value"), member(run, "position")};
              }};
    }
  }
}

// Scan results are known only where they are computed.
class ScanEmitter : public LoopEmitter {
 public:
  using LoopEmitter::LoopEmitter;
  bool failed = false;

  Expression foreign(const Node&, const Indices&) override {
    failed = true;
    return 0;
  }
};

struct Rows {
  Reduction reduction;
  RowPlan plan;
  size_t dim;
};

Rows rows_of(const RegionRequest& request, int32_t number) {
  const Node& node = request.graph.node(number);
  const Shape& shape = request.graph.type(node.operands[0]).shape;
  Rows rows{{number, node.operands[0], shape, std::vector<bool>(shape.size(), false)}, {}, 0};
  int64_t dim = node.attributes.integer("dim");
  rows.dim = static_cast<size_t>(dim < 0 ? dim + std::ssize(shape) : dim);
  if (!shape.empty()) rows.reduction.along[rows.dim] = true;
  rows.plan = plan_rows(request, rows.reduction);
  return rows;
}

// How a block walks a row. Backwards: for results used from the end, as after a flip. Late (exclusive scan):
// for results that begin with something else, as after a concatenation with zeros: the element at a result's
// position is the first it excludes.
struct Walk {
  bool backwards = false, late = false;
};

// What an exclusive scan may read at every position of its results: the whole row, of which a slice drops the
// end.
std::optional<ValueId> source_of_late(const RegionRequest& request, const Rows& rows) {
  const Graph& graph = request.graph;
  for (int32_t n : request.region.nodes) {
    const Node& node = graph.node(n);
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

// Stores every result with an element at scan position `at`; `there`: its indices.
void write_results(ScanEmitter& emitter, const Rows& rows, const Running& running, const Indices& at,
                   const Indices& there, const Shape& shape, const Expression& run) {
  const RegionRequest& request = emitter.request();
  const Node& node = request.graph.node(rows.reduction.node);
  const Expressions results = running.results(run);
  for (size_t i = 0; i < node.results.size(); ++i)
    emitter.scopes().remember(key_of(node.results[i], at), results[i]);
  for (const Place& write : request.writes) {
    Indices place = write.shape == shape ? there : unflatten(flatten(there, shape), write.shape);
    Expression value = emitter.value(write.value, place);
    emitter.store(write, place, value);
  }
}

// One thread per row: adjacent rows are contiguous, or rows are short.
std::optional<Kernel> kernel_by_threads(const RegionRequest& request, const Rows& rows, Walk walk) {
  if (walk.late) return std::nullopt;
  const RowPlan& plan = rows.plan;
  const Node& node = request.graph.node(rows.reduction.node);
  Running running = running_of(request.graph, node);
  ScanEmitter emitter(request);
  constexpr int threads = 128;
  const Type type = emitter.index_type();
  emitter.add(define_constant(
      type, "row", launch_index(type, "blockIdx.x") * threads + launch_index(type, "threadIdx.x")));
  emitter.add(only_if(named("row") >= plan.rows, {Return{}}));
  Indices kept = kept_of_row(rows);
  const Expression carry = named("carry");
  emitter.add(define_variable(running.type, "carry", running.identity));
  // With one element nothing depends on the loop, and everything would be moved out of it.
  Index j = plan.length > 1 ? emitter.open_loop("j", 0, plan.length, 1, plan.length) : Index(0);
  Indices at = rows.reduction.space.empty() ? Indices{} : rows.reduction.space_at(kept, {j}), there = at;
  if (walk.backwards) there[rows.dim] = Index(plan.length - 1) - at[rows.dim];
  Expression x = emitter.value(node.operands[0], at);
  emitter.add(assign(carry, running.combined(carry, running.of_element(x, j))));
  write_results(emitter, rows, running, at, there, rows.reduction.space, carry);
  if (plan.length > 1) emitter.close();
  if (emitter.failed) return std::nullopt;
  return kernel_of(emitter, request.name, threads, {divided_up(plan.rows, threads)});
}

// One block per row: each thread scans contiguous elements, the block scans their totals, and the carry goes
// to the next chunk.
std::optional<Draft> kernel_by_block(const RegionRequest& request, const Rows& rows, Walk walk,
                                     int64_t width) {
  const RowPlan& plan = rows.plan;
  const Node& node = request.graph.node(rows.reduction.node);
  Running running = running_of(request.graph, node);
  int64_t length = plan.length + (walk.late ? 1 : 0);
  ValueId source = node.operands[0];
  bool whole = !walk.late;  // every position has an element
  if (walk.late)
    if (auto found = source_of_late(request, rows)) source = *found, whole = true;
  if (length % width != 0 || length == 1) return std::nullopt;
  ScanEmitter emitter(request);
  const Type type = emitter.index_type();
  // At least four elements per thread, in vectors or not.
  int64_t vectors = length / width, items = std::max<int64_t>(4 / width, 1);
  int threads = std::clamp<int>(static_cast<int>(divided_up(vectors, 32 * items)) * 32, 32, 256);
  int64_t per_thread = items * width, chunk = items * threads;
  emitter.add(define_constant(type, "row", launch_index(type, "blockIdx.x")));
  Indices kept = kept_of_row(rows);
  Shape shape = rows.reduction.space;
  shape[rows.dim] = length;
  const Expression item = named("item"), v = named("v"), e = named("e"), total = named("total"),
                   carry = named("carry"), run = named("run");
  auto mine = [](const Expression& place) { return element("mine", place); };

  auto declare_vector = [&] {
    const Expression thread = launch_index(type, "threadIdx.x");
    const Expression place = items > 1 ? named("chunk") + thread * items + item : named("chunk") + thread;
    emitter.add(define_constant(type, "index", walk.backwards ? Expression(vectors - 1) - place : place));
    emitter.scopes().introduce("index");
  };
  auto each = [&](const auto& body) {
    if (items > 1) {
      emitter.scopes().open({For{int_type, "item", 0, items, 1, For::whole}}, {"item"}, false);
      declare_vector();
    }
    emitter.guard(walk.backwards ? named("index") >= 0 : named("index") < vectors);
    Index vector = Index::variable("index", vectors), lane = emitter.open_vector(width);
    body(vector * width + lane, mine(width == 1 ? item : items > 1 ? item * width + v : v));
    emitter.close_vector();
    emitter.close();
    if (items > 1) emitter.close();
  };

  emitter.add(define_variable(running.type, "carry", running.identity));
  emitter.scopes().open({For{type, "chunk", 0, vectors, chunk}}, {"chunk"}, false);
  if (items == 1) declare_vector();
  emitter.add(define_variable(running.type, "mine", {}, {per_thread}));
  emitter.add({For{int_type, "e", 0, per_thread, 1, For::whole, {assign(mine(e), running.identity)}, false}});
  each([&](const Index& place, const Expression& own) {
    Index j = walk.backwards ? Index(length - 1) - place : place;
    Indices at = rows.reduction.space_at(kept, {j});
    if (!whole) emitter.guard(j < plan.length);
    Expression x = emitter.value(source, at);
    emitter.add(assign(own, running.of_element(x, j)));
    if (!whole) emitter.close();
  });
  // In scan order: backwards within a vector if the row is walked backwards.
  const bool swapped = walk.backwards && width > 1;
  const Expression here = mine(swapped ? binary(Operator::bitwise_xor, e, width - 1) : e);
  emitter.add(define_variable(running.type, "total", running.identity));
  Block step;
  if (walk.late) {
    step = {define_constant(running.type, "own", here), assign(here, total),
            assign(total, running.combined(total, named("own")))};
  } else {
    step = {assign(total, running.combined(total, here)), assign(here, total)};
  }
  emitter.add({For{int_type, "e", 0, per_thread, 1, For::whole, std::move(step)}});
  emitter.add(define_constant(
      running.type, "before",
      collective(format("stitch::scan_block<{}>", threads), {total, carry, call(running.combine, {})})));
  each([&](const Index& place, const Expression& own) {
    Index j = (walk.backwards ? Index(length - 1) - place : place) - int64_t{walk.late};
    Indices at_scan = rows.reduction.space_at(kept, {j}), there = at_scan;
    there[rows.dim] = place;
    emitter.add(define_constant(running.type, "run", running.combined(named("before"), own)));
    write_results(emitter, rows, running, at_scan, there, shape, run);
  });
  emitter.close();
  if (emitter.failed) return std::nullopt;
  Draft out{kernel_of(emitter, request.name, threads, {plan.rows}), emitter.loads};
  out.kernel.width = width;
  return out;
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
                                            info(graph.node(n).op).name));
  RegionRequest request = request_alone(context, region);
  auto written = write_scan(request);
  if (!written) return written.error();
  return {};
}

Result<RegionCode> write_scan(const RegionRequest& request) {
  int32_t scan = scan_of(request.graph, request.region);
  Rows rows = rows_of(request, scan);
  const RowPlan& plan = rows.plan;
  bool by_thread = plan.column || rows_of(request.deciding(), scan).plan.length <= 32;
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
      std::optional<Draft> best;
      for (int64_t width = std::min<int64_t>({16 / largest, 4, request.context.widest_vector}); width >= 1;
           width /= 2) {
        std::optional<Draft> next = kernel_by_block(request, rows, walk, width);
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
