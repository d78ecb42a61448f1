#include "code/loops/stages.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "code/loops/is_expression.h"
#include "code/loops/row.h"
#include "code/loops/row_emitter.h"

namespace stitch::code::loops {

namespace {

int64_t bytes_of(const std::string& type) {
  return type == "double" || type == "int64_t" ? 8 : type == "bool" ? 1 : 4;
}

// A reduction of a stage and where what it finds goes.
struct Staged {
  Reduction reduction;
  std::vector<std::string> types, arrays;
  std::string partials;
};

// What follows from the accumulator of a whole row: findings, and the states that they renew.
void conclude(LoopEmitter& emitter, const Scheme& scheme, const std::string& all, const Index& row,
              const std::vector<std::string>& arrays, const std::vector<const Place*>& renewed) {
  for (const Pass::Finding& each : scheme.passes[0].finish(all))
    emitter.line(format("const {} {} = {};", each.type, each.name, each.text));
  for (size_t i = 0; i < arrays.size(); ++i) {
    emitter.line(format("{}[{}] = {};", arrays[i], row.text(), scheme.findings[i]));
    emitter.scopes().remember(format("stage|{}|{}", arrays[i], row.text()), scheme.findings[i]);
  }
  for (const Place* write : renewed) emitter.store(*write, {row}, emitter.value(write->value, {row}));
  std::erase_if(emitter.scratch,
                [&](const std::string& each) { return std::ranges::find(arrays, each) != arrays.end(); });
}

// The kernel of a stage, from what was emitted for it.
Attempt attempted(RowEmitter& emitter, const RowPlan& plan, const std::string& name, int64_t width) {
  Attempt out({}, emitter);
  out.kernel.name = name;
  out.kernel.threads = plan.threads;
  out.kernel.blocks =
      plan.parts > 1 ? format("{}, {}", plan.blocks(), plan.parts) : std::to_string(plan.blocks());
  out.kernel.body = emitter.scopes().take(2);
  out.kernel.used = emitter.used();
  out.kernel.packed = emitter.packed();
  out.kernel.width = width;
  out.kernel.scratch = emitter.scratch;
  return out;
}

// Each thread over its share of a row, or of a part of one, for all reductions of these rows.
Attempt partial(const RegionRequest& request, Stages& stages, const RowPlan& plan, const std::string& name,
                const std::vector<Staged>& group) {
  RowEmitter emitter(request, plan);
  emitter.stages = &stages;
  Indices kept = emitter.open_row();
  std::vector<Scheme> schemes;
  std::vector<std::string> found;
  for (const Staged& each : group) {
    schemes.push_back(scheme_of(request.graph, each.reduction, true,
                                [&](std::string_view text) { return emitter.names().unique(text); }));
    found.push_back(emitter.names().unique("all"));
    emitter.line(format("{} {} = {};", schemes.back().passes[0].type, found.back(),
                        schemes.back().passes[0].identity));
  }
  if (plan.length > 0) {
    Indices reduced = emitter.open_elements(plan.reduction);
    Index place = flatten(reduced, plan.reduction.reduced_shape());
    for (size_t i = 0; i < group.size(); ++i) {
      const Reduction& reduction = group[i].reduction;
      std::string x =
          emitter.value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
      emitter.line(schemes[i].passes[0].step(found[i], x, place.text()));
    }
    emitter.close_elements();
    for (size_t i = 0; i < group.size() && plan.lanes > 1; ++i)
      emitter.line(format("{} = {};", found[i], emitter.joined(schemes[i].passes[0], found[i])));
  }
  std::string writer = plan.lanes > 1 ? "lane == 0" : "";
  if (plan.overhangs()) writer += writer.empty() ? "inside" : " && inside";
  Index row = stages.row_of(plan.reduction, kept);
  if (!writer.empty()) emitter.guard(writer);
  for (size_t i = 0; i < group.size(); ++i) {
    if (plan.parts > 1) {
      std::string begin = plan.rows > 1 ? format("({}) * {} + ", row.text(), plan.parts) : "";
      emitter.line(format("{}[{}blockIdx.y] = {};", group[i].partials, begin, found[i]));
    } else {
      conclude(emitter, schemes[i], found[i], row, group[i].arrays, stages.renewed_by(group[i].reduction));
    }
  }
  if (!writer.empty()) emitter.close();

  return attempted(emitter, plan, name, plan.width);
}

// The same where rows stand side by side in memory: each thread over its share of a pack of them.
Attempt partial_across(const RegionRequest& request, Stages& stages, const RowPlan& plan,
                       const std::string& name, const std::vector<Staged>& group) {
  RowEmitter emitter(request, plan);
  emitter.stages = &stages;
  emitter.open_row();
  std::vector<Scheme> schemes;
  std::vector<std::string> found;
  for (const Staged& each : group) {
    schemes.push_back(scheme_of(request.graph, each.reduction, true,
                                [&](std::string_view text) { return emitter.names().unique(text); }));
    found.push_back(emitter.names().unique("all"));
    const Pass& pass = schemes.back().passes[0];
    emitter.line(format("{} {}[{}];  // of neighbouring rows", pass.type, found.back(), plan.across));
    emitter.line("#pragma unroll");
    emitter.line(
        format("for (int v = 0; v < {}; ++v) {}[v] = {};", plan.across, found.back(), pass.identity));
  }
  Indices reduced = emitter.open_elements(plan.reduction);
  Indices kept = emitter.kept_at(emitter.open_pack(plan.across));
  Index place = flatten(reduced, plan.reduction.reduced_shape());
  for (size_t i = 0; i < group.size(); ++i) {
    const Reduction& reduction = group[i].reduction;
    std::string x = emitter.value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
    emitter.line(schemes[i].passes[0].step(found[i] + "[v]", x, place.text()));
  }
  emitter.close_elements();
  for (size_t i = 0; i < group.size() && plan.lanes > 1; ++i)
    emitter.line(format("stitch::reduce_columns_of<{}, {}>({}, {});", plan.columns, plan.lanes, found[i],
                        schemes[i].passes[0].combine));
  std::string writer = plan.lanes > 1 ? "lane == 0" : "";
  if (plan.overhangs()) writer += writer.empty() ? "inside" : " && inside";
  if (!writer.empty()) emitter.guard(writer);
  kept = emitter.kept_at(emitter.open_pack(plan.across));
  Index row = stages.row_of(plan.reduction, kept);
  for (size_t i = 0; i < group.size(); ++i) {
    if (plan.parts > 1)
      emitter.line(
          format("{}[({}) * {} + blockIdx.y] = {}[v];", group[i].partials, row.text(), plan.parts, found[i]));
    else
      conclude(emitter, schemes[i], found[i] + "[v]", row, group[i].arrays,
               stages.renewed_by(group[i].reduction));
  }
  emitter.close_pack();
  if (!writer.empty()) emitter.close();

  return attempted(emitter, plan, name, plan.across);
}

// The smallest elements of what a reduction mostly reads: packs of them fill 16 bytes.
int64_t element_bytes(const RegionRequest& request, const Reduction& reduction) {
  int64_t bytes = size_of(request.graph.type(reduction.operand).dtype);
  for (const Place& place : request.reads)
    if (element_count(place.shape) * 2 > element_count(reduction.space))
      bytes = std::min(bytes, size_of(place.dtype));
  return std::max<int64_t>(bytes, 2);
}

// A warp a row joins the parts.
Kernel finish(const RegionRequest& request, Stages& stages, const std::vector<Staged>& group, int64_t parts,
              const std::string& name) {
  LoopEmitter emitter(request);
  emitter.stages = &stages;
  const char* type = emitter.index_type();
  int64_t rows = group[0].reduction.rows();
  emitter.line(format(
      "const {0} row = (static_cast<{0}>(blockIdx.x) * 128 + static_cast<{0}>(threadIdx.x)) / 32;", type));
  emitter.line("const int lane = static_cast<int>(threadIdx.x) % 32;");
  emitter.line(format("if (row >= {}) return;  // the whole warp", rows));
  for (const Staged& each : group) {
    Scheme scheme = scheme_of(request.graph, each.reduction, true,
                              [&](std::string_view text) { return emitter.names().unique(text); });
    const Pass& pass = scheme.passes[0];
    std::string all = emitter.names().unique("all");
    emitter.line(format("{} {} = {};", pass.type, all, pass.identity));
    emitter.scopes().open(format("for (int part = lane; part < {}; part += 32)", parts), {"part"}, false);
    emitter.line(format("{0} = {1}({0}, {2}[row * {3} + part]);", all, pass.combine, each.partials, parts));
    emitter.close();
    emitter.line(format("{0} = stitch::reduce_lanes<32>({0}, {1});", all, pass.combine));
    emitter.guard("lane == 0");
    conclude(emitter, scheme, all, Index::variable("row", rows), each.arrays,
             stages.renewed_by(each.reduction));
    emitter.close();
  }
  Kernel kernel;
  kernel.name = name;
  kernel.threads = 128;
  kernel.blocks = std::to_string(divided_up(rows, 4));
  kernel.body = emitter.scopes().take(2);
  kernel.used = emitter.used();
  return kernel;
}

// Does making `from` need what `node` makes, inside the region?
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
    const Node& made = request.graph.nodes[static_cast<size_t>(maker)];
    open.insert(open.end(), made.operands.begin(), made.operands.end());
  }
  return false;
}

}  // namespace

// Reductions of the same rows that don't need each other share a kernel, and what it reads.
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
  int64_t widest = 8;
  for (const Reduction& each : same_stage(reduction)) {
    started_.insert(each.node);
    const std::string base = identifier(graph[graph.nodes[static_cast<size_t>(each.node)].results[0]].name);
    Scheme scheme = scheme_of(graph, each, true, [](std::string_view name) { return identifier(name); });
    Staged staged{each, finding_types(graph, each), {}, names_.unique("parts_of_" + base)};
    for (size_t i = 0; i < staged.types.size(); ++i)
      staged.arrays.push_back(names_.unique("all_" + scheme.findings[i]));
    widest = std::min<int64_t>(
        widest, each.length() >= 64 ? 16 / std::max<int64_t>(size_of(graph.type(each.operand).dtype), 1) : 1);
    group.push_back(std::move(staged));
  }
  const std::string base =
      identifier(graph[graph.nodes[static_cast<size_t>(reduction.node)].results[0]].name);
  std::string name = names_.unique(format("{}_{}_rows", request_.name, base));

  for (const Staged& each : group) {
    arrays_[each.reduction.node] = each.arrays;
    for (const Place* write : renewed_by(each.reduction)) renewed_.insert(write);
  }
  RowPlan plan = plan_rows(request_, reduction);
  for (const Staged& each : group) orders_[each.reduction.node] = plan.kept_order;
  std::optional<Attempt> best;
  int64_t parts = 1;
  // The accumulators of a pack of rows are registers: of two reductions, but not of many.
  if (group.size() <= 2 && reduction.length() > 0)
    for (int64_t across = 16 / element_bytes(request_, reduction); across > 1 && !best; across /= 2)
      if (auto next = with_packed_rows(plan, across)) {
        plan_parts(*next);
        Attempt made = partial_across(request_, *this, *next, name, group);
        if (made.kernel.packed.empty() || made.packed < made.scattered) continue;
        best = std::move(made);
        parts = next->parts;
      }
  for (int64_t width = best ? 0 : widest; width >= 1; width /= 2)
    for (RowPlan& next : with_width(plan, width)) {
      plan_parts(next);
      Attempt made = partial(request_, *this, next, name, group);
      if (!made.pays() || (best && !made.better_than(*best))) continue;
      best = std::move(made);
      parts = next.parts;
    }
  Kernel first = std::move(best->kernel), last;
  if (parts > 1) last = finish(request_, *this, group, parts, name + "_joined");
  Kernel& finding = parts > 1 ? last : first;
  for (const Staged& each : group) {
    for (size_t i = 0; i < each.types.size(); ++i)
      workspace_.add(each.types[i], each.arrays[i], each.reduction.rows(), bytes_of(each.types[i]));
    if (parts > 1) {
      const Pass pass = scheme_of(graph, each.reduction, true, [](std::string_view text) {
                          return std::string(text);
                        }).passes[0];
      workspace_.add(pass.type, each.partials, each.reduction.rows() * parts, pass.bytes);
      first.scratch.push_back(each.partials);
      first.written.insert(each.partials);
      last.scratch.push_back(each.partials);
    }
    finding.scratch.insert(finding.scratch.end(), each.arrays.begin(), each.arrays.end());
    finding.written.insert(each.arrays.begin(), each.arrays.end());
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
  const Node& node = request_.graph.nodes[static_cast<size_t>(reduction.node)];
  std::vector<const Place*> out;
  if (node.op != Op::batch_norm) return out;
  for (const Place& write : request_.writes)
    if (std::ranges::find(node.results.begin() + 1, node.results.end(), write.value) != node.results.end())
      out.push_back(&write);
  return out;
}

std::vector<std::string> LoopEmitter::findings(const Reduction& reduction, const Indices& kept) {
  if (!stages || reduction.length() <= most_inlined) return Emitter::findings(reduction, kept);
  const std::vector<std::string>& arrays = stages->arrays_of(reduction);
  std::vector<std::string> types = finding_types(graph(), reduction), out;
  Scopes::Outside outside(scopes(), scopes().outermost(kept));
  const Index row = stages->row_of(reduction, kept);
  const std::optional<Index> start = start_of_pack(row);
  for (size_t i = 0; i < arrays.size(); ++i) {
    std::string key = format("stage|{}|{}", arrays[i], row.text());
    if (!scopes().find(key)) {
      std::string name = names().unique(arrays[i].substr(4)),
                  element = format("{}[{}]", arrays[i], row.text());
      if (row.appears(pack_.variable)) ++shared_loads;
      if (start) {
        // Scratch is aligned to more than any pack.
        Scopes::Outside before(scopes(), scopes().outermost({*start}));
        std::string pack = names().unique(name + "_pack");
        line(format("const auto {} = stitch::load_pack<true, {}>({} + {});", pack, pack_.width, arrays[i],
                    start->text()));
        element = format("{}[{}]", pack, pack_.variable);
      }
      line(format("const {} {} = {};", types[i], name, element));
      scopes().remember(key, name);
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
