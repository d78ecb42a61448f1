#include "code/loops/stages.h"

#include <algorithm>

#include "base/format.h"
#include "code/loops/families.h"
#include "code/loops/row.h"
#include "code/loops/row_emitter.h"

namespace stitch::code::loops {

namespace {

int64_t bytes_of(const std::string& type) {
  return type == "double" || type == "int64_t" ? 8 : type == "bool" ? 1 : 4;
}

// Each thread over its share of a row, or of a part of one.
Attempt partial(const RegionRequest& request, Stages& stages, const RowPlan& plan, const std::string& name,
                const std::vector<std::string>& arrays, const std::string& partials) {
  RowEmitter emitter(request, plan);
  emitter.stages = &stages;
  const Reduction& reduction = plan.reduction;
  Indices kept = emitter.open_row();
  Scheme scheme = scheme_of(request.graph, reduction, true,
                            [&](std::string_view each) { return emitter.names().unique(each); });
  const Pass& pass = scheme.passes[0];
  emitter.line(format("{} all = {};", pass.type, pass.identity));
  if (plan.length > 0) {
    Indices reduced = emitter.open_elements(reduction);
    std::string x = emitter.value(reduction.operand, reduction.operand_at(reduction.space_at(kept, reduced)));
    emitter.line(pass.step("all", x, flatten(reduced, reduction.reduced_shape()).text()));
    emitter.close_elements();
    if (plan.lanes > 1) emitter.line(format("all = {};", emitter.joined(pass, "all")));
  }
  std::string writer = plan.lanes > 1 ? "lane == 0" : "";
  if (plan.overhangs()) writer += writer.empty() ? "inside" : " && inside";
  Index row = flatten(kept, reduction.kept_shape());
  if (!writer.empty()) emitter.guard(writer);
  if (plan.parts > 1) {
    emitter.line(format("{}[({}) * {} + blockIdx.y] = all;", partials, row.text(), plan.parts));
  } else {
    for (const Pass::Finding& each : pass.finish("all"))
      emitter.line(format("const {} {} = {};", each.type, each.name, each.text));
    for (size_t i = 0; i < arrays.size(); ++i)
      emitter.line(format("{}[{}] = {};", arrays[i], row.text(), scheme.findings[i]));
  }
  if (!writer.empty()) emitter.close();

  Attempt out({}, emitter);
  out.kernel.name = name;
  out.kernel.threads = plan.threads;
  out.kernel.blocks =
      plan.parts > 1 ? format("{}, {}", plan.blocks(), plan.parts) : std::to_string(plan.blocks());
  out.kernel.body = emitter.scopes().take(2);
  out.kernel.used = emitter.used();
  out.kernel.packed = emitter.packed();
  out.kernel.width = plan.width;
  out.kernel.scratch = emitter.scratch;
  return out;
}

// A warp a row joins the parts.
Kernel finish(const RegionRequest& request, const Reduction& reduction, int64_t parts,
              const std::string& name, const std::vector<std::string>& arrays, const std::string& partials) {
  LoopEmitter emitter(request);
  Scheme scheme = scheme_of(request.graph, reduction, true,
                            [&](std::string_view each) { return emitter.names().unique(each); });
  const Pass& pass = scheme.passes[0];
  const char* type = emitter.index_type();
  emitter.line(format(
      "const {0} row = (static_cast<{0}>(blockIdx.x) * 128 + static_cast<{0}>(threadIdx.x)) / 32;", type));
  emitter.line("const int lane = static_cast<int>(threadIdx.x) % 32;");
  emitter.line(format("if (row >= {}) return;  // the whole warp", reduction.rows()));
  emitter.line(format("{} all = {};", pass.type, pass.identity));
  emitter.line(format("for (int part = lane; part < {0}; part += 32) all = {1}(all, {2}[row * {0} + part]);",
                      parts, pass.combine, partials));
  emitter.line(format("all = stitch::reduce_lanes<32>(all, {});", pass.combine));
  emitter.guard("lane == 0");
  for (const Pass::Finding& each : pass.finish("all"))
    emitter.line(format("const {} {} = {};", each.type, each.name, each.text));
  for (size_t i = 0; i < arrays.size(); ++i)
    emitter.line(format("{}[row] = {};", arrays[i], scheme.findings[i]));
  emitter.close();
  Kernel kernel;
  kernel.name = name;
  kernel.threads = 128;
  kernel.blocks = std::to_string(divided_up(reduction.rows(), 4));
  kernel.body = emitter.scopes().take(2);
  return kernel;
}

}  // namespace

const std::vector<std::string>& Stages::arrays_of(const Reduction& reduction) {
  if (auto found = arrays_.find(reduction.node); found != arrays_.end()) return found->second;
  const Graph& graph = request_.graph;
  const std::string base =
      identifier(graph[graph.nodes[static_cast<size_t>(reduction.node)].results[0]].name);
  std::vector<std::string> types = finding_types(graph, reduction);
  Scheme scheme = scheme_of(graph, reduction, true, [](std::string_view name) { return identifier(name); });
  std::vector<std::string> arrays;
  for (size_t i = 0; i < types.size(); ++i) arrays.push_back(names_.unique("all_" + scheme.findings[i]));
  std::string partials = names_.unique("parts_of_" + base);
  std::string name = names_.unique(format("{}_{}_rows", request_.name, base));

  RowPlan plan = plan_rows(request_, reduction);
  std::optional<Attempt> best;
  int64_t parts = 1;
  int64_t widest =
      reduction.length() >= 64 ? 16 / std::max<int64_t>(size_of(graph.type(reduction.operand).dtype), 1) : 1;
  for (int64_t width = std::min<int64_t>(widest, 8); width >= 1; width /= 2)
    for (RowPlan& next : with_width(plan, width)) {
      plan_parts(next);
      Attempt made = partial(request_, *this, next, name, arrays, partials);
      if (!made.pays() || (best && !made.better_than(*best))) continue;
      best = std::move(made);
      parts = next.parts;
    }
  for (size_t i = 0; i < types.size(); ++i)
    workspace_.add(types[i], arrays[i], reduction.rows(), bytes_of(types[i]));
  const Pass& pass = scheme.passes[0];
  if (parts > 1) {
    workspace_.add(pass.type, partials, reduction.rows() * parts, pass.bytes);
    Kernel last = finish(request_, reduction, parts, name + "_joined", arrays, partials);
    best->kernel.scratch.push_back(partials);
    best->kernel.written.insert(partials);
    kernels_.push_back(std::move(best->kernel));
    last.scratch = {partials};
    last.scratch.insert(last.scratch.end(), arrays.begin(), arrays.end());
    last.written.insert(arrays.begin(), arrays.end());
    kernels_.push_back(std::move(last));
  } else {
    best->kernel.scratch.insert(best->kernel.scratch.end(), arrays.begin(), arrays.end());
    best->kernel.written.insert(arrays.begin(), arrays.end());
    kernels_.push_back(std::move(best->kernel));
  }
  return arrays_[reduction.node] = std::move(arrays);
}

std::vector<std::string> LoopEmitter::findings(const Reduction& reduction, const Indices& kept) {
  if (!stages || reduction.length() <= most_inlined) return Emitter::findings(reduction, kept);
  const std::vector<std::string>& arrays = stages->arrays_of(reduction);
  std::vector<std::string> types = finding_types(graph(), reduction), out;
  Scopes::Outside outside(scopes(), scopes().outermost(kept));
  std::string row = flatten(kept, reduction.kept_shape()).text();
  for (size_t i = 0; i < arrays.size(); ++i) {
    std::string key = format("stage|{}|{}", arrays[i], row);
    if (!scopes().find(key)) {
      std::string name = names().unique(arrays[i].substr(4));
      line(format("const {} {} = {}[{}];", types[i], name, arrays[i], row));
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
  std::vector<Kernel> last = loop_kernels(request, make), kernels = stages.kernels();
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
