#include "code/loops/row_plan.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "code/loops/emit/row_emitter.h"
#include "code/loops/reduction.h"
#include "code/loops/techniques.h"

namespace stitch::code::loops {

namespace {

// A reduction of a stage and the destination of its results.
struct Staged {
  Reduction reduction;
  std::vector<Type> types;
  std::vector<std::string> arrays;
  std::string partials;
};

// Statistics from the accumulator of a whole row, and the states they update.
void conclude(LoopEmitter& emitter, const Scheme& scheme, const Expression& all, const Index& row,
              const std::vector<std::string>& arrays, const std::vector<const Place*>& renewed) {
  for (const Pass::Statistic& each : scheme.passes[0].finish(all))
    emitter.add(define_constant(each.type, each.name, each.value));
  for (size_t i = 0; i < arrays.size(); ++i) {
    emitter.add(assign(element(arrays[i], row), scheme.statistics[i]));
    emitter.scopes().remember(key_of(Key::stage, arrays[i], row), scheme.statistics[i]);
  }
  for (const Place* write : renewed) emitter.store(*write, {row}, emitter.value(write->value, {row}));
  std::erase_if(emitter.scratch,
                [&](const std::string& each) { return std::ranges::find(arrays, each) != arrays.end(); });
}

// The kernel of a stage.
Draft drafted(RowEmitter& emitter, const RowPlan& plan, const std::string& name, int64_t width) {
  std::vector<int64_t> blocks = {plan.blocks()};
  if (plan.parts() > 1) blocks.push_back(plan.parts());
  Draft out{kernel_of(emitter, name, plan.threads(), std::move(blocks)), emitter.loads};
  out.kernel.width = width;
  out.kernel.scratch = emitter.scratch;
  return out;
}

// Where a part's accumulator is stored.
Expression part_of(const std::string& partials, const Index& row, const RowPlan& plan) {
  const Expression part = named("blockIdx.y");
  return element(partials, plan.rows > 1 ? Expression(row) * plan.parts() + part : part);
}

// The thread of a row that stores its results; none: each thread has its own row.
Expression writer_of(const RowPlan& plan) {
  return both(plan.lanes() > 1 ? named("lane") == 0 : Expression(),
              plan.overhangs() ? named("inside") : Expression());
}

// Each thread over its share of a row, or of a part, for all reductions of these rows.
Draft partial(const RegionRequest& request, Stages& stages, const RowPlan& plan, const std::string& name,
              const std::vector<Staged>& group) {
  RowEmitter emitter(request, plan);
  emitter.stages = &stages;
  Indices kept = emitter.open_row();
  std::vector<Scheme> schemes;
  Expressions found;
  for (const Staged& each : group) {
    schemes.push_back(scheme_of(request.graph, each.reduction, true,
                                [&](std::string_view text) { return emitter.names().unique(text); }));
    found.push_back(named(emitter.names().unique("all")));
    emitter.add(define_variable(schemes.back().passes[0].type, found.back()->name,
                                schemes.back().passes[0].identity));
  }
  if (plan.length > 0) {
    Indices reduced = emitter.open_elements(plan.reduction);
    Index place = flatten(reduced, plan.reduction.reduced_shape());
    for (size_t i = 0; i < group.size(); ++i) {
      const Reduction& reduction = group[i].reduction;
      Expression x =
          emitter.value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
      emitter.add(schemes[i].passes[0].step(found[i], x, place));
    }
    emitter.close_elements();
    for (size_t i = 0; i < group.size() && plan.lanes() > 1; ++i)
      emitter.add(assign(found[i], emitter.joined(schemes[i].passes[0], found[i])));
  }
  const Expression writer = writer_of(plan);
  Index row = stages.row_of(plan.reduction, kept);
  if (!writer.empty()) emitter.guard(writer);
  for (size_t i = 0; i < group.size(); ++i) {
    if (plan.parts() > 1) {
      emitter.add(assign(part_of(group[i].partials, row, plan), found[i]));
    } else {
      conclude(emitter, schemes[i], found[i], row, group[i].arrays, stages.renewed_by(group[i].reduction));
    }
  }
  if (!writer.empty()) emitter.close();

  return drafted(emitter, plan, name, plan.width);
}

// Accumulates a few elements at a time, for a vector of rows, then merges.
void take_by_few(RowEmitter& emitter, const RowPlan& plan, const std::vector<Staged>& group,
                 const std::vector<Scheme>& schemes, const Expressions& found) {
  const int64_t elements = group.size() > 1 ? 4 : few_at_once;
  const Expression v = named("v");
  auto of_rows = [&](Block body) {
    emitter.add({For{int_type, "v", 0, plan.across(), 1, For::whole, std::move(body), false}});
  };
  emitter.open_pieces(elements);
  Expressions few;
  for (const Scheme& scheme : schemes) {
    const Pass& pass = scheme.passes[0];
    few.push_back(named(emitter.names().unique("few")));
    emitter.add(define_variable(pass.few, few.back()->name, {}, {plan.across()}));
    of_rows({assign(element(few.back(), v), pass.no_few)});
  }
  const Indices reduced = emitter.open_piece(plan.reduction, elements);
  const Expression within = named("within");
  const Indices kept = emitter.kept_at(emitter.open_vector(plan.across()));
  for (size_t i = 0; i < group.size(); ++i) {
    const Reduction& reduction = group[i].reduction;
    const Expression x =
        emitter.value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
    emitter.add(
        evaluate(method(element(few[i], v), "add", {select(within, x, schemes[i].passes[0].neutral)})));
  }
  emitter.close_elements();
  for (size_t i = 0; i < group.size(); ++i)
    of_rows({evaluate(method(element(found[i], v), "add", {element(few[i], v)}))});
  emitter.close();
}

// The same for rows that are adjacent in memory: each thread over its share of a vector of rows.
Draft partial_across(const RegionRequest& request, Stages& stages, const RowPlan& plan,
                     const std::string& name, const std::vector<Staged>& group) {
  RowEmitter emitter(request, plan);
  emitter.stages = &stages;
  emitter.open_row();
  const Expression v = named("v");
  std::vector<Scheme> schemes;
  Expressions found;
  for (const Staged& each : group) {
    schemes.push_back(scheme_of(request.graph, each.reduction, true,
                                [&](std::string_view text) { return emitter.names().unique(text); }));
    found.push_back(named(emitter.names().unique("all")));
    const Pass& pass = schemes.back().passes[0];
    Statement accumulators = define_variable(pass.type, found.back()->name, {}, {plan.across()});
    accumulators.comment = "of neighbouring rows";
    emitter.add(std::move(accumulators));
    Block clear = {assign(element(found.back(), v), pass.identity)};
    emitter.add({For{int_type, "v", 0, plan.across(), 1, For::whole, std::move(clear), false}});
  }
  Indices kept;
  if (std::ranges::all_of(schemes, [](const Scheme& each) { return !each.passes[0].no_few.empty(); })) {
    take_by_few(emitter, plan, group, schemes, found);
  } else {
    Indices reduced = emitter.open_elements(plan.reduction);
    kept = emitter.kept_at(emitter.open_vector(plan.across()));
    Index place = flatten(reduced, plan.reduction.reduced_shape());
    for (size_t i = 0; i < group.size(); ++i) {
      const Reduction& reduction = group[i].reduction;
      Expression x =
          emitter.value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
      emitter.add(schemes[i].passes[0].step(element(found[i], v), x, place));
    }
    emitter.close_elements();
  }
  for (size_t i = 0; i < group.size() && plan.lanes() > 1; ++i)
    emitter.add(evaluate(
        collective(format("stitch::reduce_columns_of<{}, {}>", plan.columns()->columns, plan.lanes()),
                   {found[i], schemes[i].passes[0].functor()})));
  const Expression writer = writer_of(plan);
  if (!writer.empty()) emitter.guard(writer);
  kept = emitter.kept_at(emitter.open_vector(plan.across()));
  Index row = stages.row_of(plan.reduction, kept);
  for (size_t i = 0; i < group.size(); ++i) {
    if (plan.parts() > 1)
      emitter.add(assign(part_of(group[i].partials, row, plan), element(found[i], v)));
    else
      conclude(emitter, schemes[i], element(found[i], v), row, group[i].arrays,
               stages.renewed_by(group[i].reduction));
  }
  emitter.close_vector();
  if (!writer.empty()) emitter.close();

  return drafted(emitter, plan, name, plan.across());
}

// The smallest element size among a reduction's main inputs, for 16-byte vectors.
int64_t element_bytes(const RegionRequest& request, const Reduction& reduction) {
  int64_t bytes = size_of(request.graph.type(reduction.operand).dtype);
  for (const Place& place : request.reads)
    if (element_count(place.shape) * 2 > element_count(reduction.space))
      bytes = std::min(bytes, size_of(place.dtype));
  return std::max<int64_t>(bytes, 2);
}

// One warp per row combines the parts, or a block if they are many: a warp reading 1024 of them took 8.7 us
// for 64 rows (H200), mostly latency.
Kernel finish(const RegionRequest& request, Stages& stages, const std::vector<Staged>& group, int64_t parts,
              const std::string& name) {
  LoopEmitter emitter(request);
  emitter.stages = &stages;
  const Type type = emitter.index_type();
  const int64_t rows = group[0].reduction.rows(), lanes = parts > 128 ? 256 : 32;
  const Expression row = named("row"), lane = named("lane"), part = named("part"),
                   block = launch_index(type, "blockIdx.x"), own = launch_index(int_type, "threadIdx.x");
  if (lanes == 32) {
    emitter.add(define_constant(type, "row", (block * 128 + launch_index(type, "threadIdx.x")) / 32));
    emitter.add(define_constant(int_type, "lane", own % 32));
    Statement past = only_if(row >= rows, {Return{}});
    past.comment = "the whole warp";
    emitter.add(std::move(past));
  } else {
    emitter.add(define_constant(type, "row", block));
    emitter.add(define_constant(int_type, "lane", own));
  }
  for (const Staged& each : group) {
    Scheme scheme = scheme_of(request.graph, each.reduction, true,
                              [&](std::string_view text) { return emitter.names().unique(text); });
    const Pass& pass = scheme.passes[0];
    const Expression all = named(emitter.names().unique("all"));
    emitter.add(define_variable(pass.type, all->name, pass.identity));
    emitter.scopes().open({For{int_type, "part", lane, parts, lanes, 4}}, {"part"}, false);
    emitter.add(assign(all, pass.combined(all, element(each.partials, row * parts + part))));
    emitter.close();
    const std::string joined = lanes == 32 ? "stitch::reduce_lanes<32>" : "stitch::reduce_block<256>";
    emitter.add(assign(all, collective(joined, {all, pass.functor()})));
    emitter.guard(lane == 0);
    conclude(emitter, scheme, all, Index::variable("row", rows), each.arrays,
             stages.renewed_by(each.reduction));
    emitter.close();
  }
  return lanes == 32 ? kernel_of(emitter, name, 128, {divided_up(rows, 4)})
                     : kernel_of(emitter, name, 256, {rows});
}

// Whether computing `from` needs the result of `node` inside the region.
bool depends(const RegionRequest& request, ValueId from, int32_t node) {
  std::vector<int32_t> makers = producers(request.graph);
  std::set<int32_t> inside(request.region.nodes.begin(), request.region.nodes.end()), seen;
  std::vector<ValueId> open = {from};
  while (!open.empty()) {
    ValueId id = open.back();
    open.pop_back();
    if (id == ValueId::none) continue;
    int32_t maker = makers[index_of(id)];
    if (maker == node) return true;
    if (maker < 0 || !inside.contains(maker) || !seen.insert(maker).second) continue;
    const Node& made = request.graph.node(maker);
    open.insert(open.end(), made.operands.begin(), made.operands.end());
  }
  return false;
}

}  // namespace

// Independent reductions of the same rows share a kernel and its loads.
std::vector<Reduction> Stages::same_stage(const Reduction& reduction) const {
  std::vector<Reduction> out = {reduction};
  for (int32_t n : request_.region.nodes) {
    auto other = reduction_of(request_.graph, n);
    if (!other || n == reduction.node || started_.contains(n) || other->length() <= most_inlined ||
        other->space != reduction.space || other->along != reduction.along ||
        other->grouped != reduction.grouped || depends(request_, reduction.operand, n))
      continue;
    if (std::ranges::none_of(
            out, [&](const Reduction& each) { return depends(request_, other->operand, each.node); }))
      out.push_back(*other);
  }
  return out;
}

const std::vector<std::string>& Stages::arrays_of(const Reduction& reduction) {
  if (auto found = arrays_.find(reduction.node); found != arrays_.end()) return found->second;
  const Graph& graph = request_.graph;
  std::vector<Staged> group;
  int64_t widest = std::min<int64_t>(8, request_.context.widest_vector);
  for (const Reduction& each : same_stage(reduction)) {
    started_.insert(each.node);
    const std::string base = identifier(graph[graph.node(each.node).results[0]].name);
    Scheme scheme = scheme_of(graph, each, true, [](std::string_view name) { return identifier(name); });
    Staged staged{each, statistic_types(graph, each), {}, names_.unique("parts_of_" + base)};
    for (size_t i = 0; i < staged.types.size(); ++i) {
      staged.arrays.push_back(names_.unique("all_" + scheme.statistics[i]->name));
      statistics_[staged.arrays.back()] = scheme.statistics[i]->name;
    }
    widest = std::min<int64_t>(
        widest, each.length() >= 64 ? 16 / std::max<int64_t>(size_of(graph.type(each.operand).dtype), 1) : 1);
    group.push_back(std::move(staged));
  }
  const std::string base = identifier(graph[graph.node(reduction.node).results[0]].name);
  std::string name = names_.unique(format("{}_{}_rows", request_.name, base));

  for (const Staged& each : group) {
    arrays_[each.reduction.node] = each.arrays;
    for (const Place* write : renewed_by(each.reduction)) renewed_.insert(write);
  }
  RowPlan plan = plan_rows(request_, reduction);
  for (const Staged& each : group) orders_[each.reduction.node] = plan.kept_order;
  std::optional<Draft> best;
  int64_t parts = 1;
  // The accumulators of a vector of rows are in registers: of two reductions, but not of many.
  if (group.size() <= 2 && reduction.length() > 0)
    for (int64_t across = std::min(16 / element_bytes(request_, reduction), request_.context.widest_vector);
         across > 1 && !best; across /= 2)
      if (RowPlan next = plan; plan_parts_across(next, across, request_.context.gpu)) {
        Draft made = partial_across(request_, *this, next, name, group);
        if (made.kernel.vectorised.empty() || made.loads.vectorised < made.loads.scattered) continue;
        best = std::move(made);
        parts = next.parts();
      }
  for (int64_t width = best ? 0 : widest; width >= 1; width /= 2)
    for (RowPlan& next : with_width(plan, width)) {
      plan_parts(next, request_.context.gpu);
      Draft made = partial(request_, *this, next, name, group);
      if (!made.pays() || (best && !made.better_than(*best))) continue;
      best = std::move(made);
      parts = next.parts();
    }
  Kernel first = std::move(best->kernel), last;
  if (parts > 1) last = finish(request_, *this, group, parts, name + "_joined");
  Kernel& statistic = parts > 1 ? last : first;
  for (const Staged& each : group) {
    for (size_t i = 0; i < each.types.size(); ++i)
      workspace_.add(each.types[i], each.arrays[i], each.reduction.rows());
    if (parts > 1) {
      const Pass pass = scheme_of(graph, each.reduction, true, [](std::string_view text) {
                          return std::string(text);
                        }).passes[0];
      workspace_.add(pass.type, each.partials, each.reduction.rows() * parts);
      first.scratch.push_back(each.partials);
      first.written.insert(each.partials);
      last.scratch.push_back(each.partials);
    }
    statistic.scratch.insert(statistic.scratch.end(), each.arrays.begin(), each.arrays.end());
    statistic.written.insert(each.arrays.begin(), each.arrays.end());
  }
  kernels_.push_back(std::move(first));
  if (parts > 1) kernels_.push_back(std::move(last));
  return arrays_.at(reduction.node);
}

Index Stages::row_of(const Reduction& reduction, const Indices& kept) const {
  Shape shape = reduction.kept_shape(), walked;
  Indices in_order;
  for (size_t d : orders_.at(reduction.node)) {
    walked.push_back(shape[d]);
    in_order.push_back(kept[d]);
  }
  return flatten(in_order, walked);
}

std::vector<const Place*> Stages::renewed_by(const Reduction& reduction) const {
  const Node& node = request_.graph.node(reduction.node);
  std::vector<const Place*> out;
  if (node.op != Op::batch_norm) return out;
  for (const Place& write : request_.writes)
    if (std::ranges::find(node.results.begin() + 1, node.results.end(), write.value) != node.results.end())
      out.push_back(&write);
  return out;
}

Expressions LoopEmitter::statistics(const Reduction& reduction, const Indices& kept) {
  if (!stages || reduction.length() <= most_inlined) return Emitter::statistics(reduction, kept);
  const std::vector<std::string>& arrays = stages->arrays_of(reduction);
  const std::vector<Type> types = statistic_types(graph(), reduction);
  Expressions out;
  Scopes::Outside outside(scopes(), scopes().outermost(kept));
  const Index row = stages->row_of(reduction, kept);
  const std::optional<Index> start = start_of_vector(row);
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Key key = key_of(Key::stage, arrays[i], row);
    if (!scopes().find(key)) {
      std::string name = names().unique(stages->statistic_of(arrays[i]));
      Expression read = element(arrays[i], row);
      if (row.appears(vector_.variable)) ++loads.shared;
      if (start) {
        // Scratch is aligned to more than any vector.
        Scopes::Outside before(scopes(), scopes().outermost({*start}));
        std::string vector = names().unique(name + "_vector");
        add(define_constant(auto_type, vector,
                            call(format("stitch::load_vector<true, {}>", vector_.width),
                                 {appended(named(arrays[i]), *start)})));
        read = element(vector, named(vector_.variable));
      }
      add(define_constant(types[i], name, read));
      scopes().remember(key, named(name));
    }
    out.push_back(*scopes().find(key));
    if (std::ranges::find(scratch, arrays[i]) == scratch.end()) scratch.push_back(arrays[i]);
  }
  return out;
}

Result<RegionCode> write_staged(const RegionRequest& request) {
  Stages stages(request);
  auto make = [&] {
    auto emitter = std::make_unique<LoopEmitter>(request);
    emitter->stages = &stages;
    return emitter;
  };
  auto done = [&](const Place& write) { return stages.renewed(write); };
  std::vector<Kernel> last = loop_kernels(request, make, done), kernels = stages.kernels();
  kernels.insert(kernels.end(), last.begin(), last.end());
  std::string idea = format(
      "{}: first what is to be known of each row, {} kernel{}, then the results element by element. {} "
      "moved, and "
      "what is reduced once more.",
      ops_text(request), stages.kernels().size(), stages.kernels().size() == 1 ? "" : "s",
      traffic_text(request));
  return assemble(request, idea, kernels, stages.workspace());
}

}  // namespace stitch::code::loops
