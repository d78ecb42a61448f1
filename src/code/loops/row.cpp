#include "code/loops/kernel.h"
#include "code/loops/techniques.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/format.h"
#include "code/loops/emit/row_emitter.h"
#include "code/loops/reduction.h"
#include "code/loops/row_plan.h"

namespace stitch::code::loops {

namespace {

// The reduction whose rows the kernel's threads share: the one with the most elements.
std::optional<Reduction> main_reduction(const Graph& graph, const plan::Region& region) {
  std::optional<Reduction> best;
  for (int32_t n : region.nodes)
    if (auto each = reduction_of(graph, n))
      if (!best || element_count(each->space) > element_count(best->space)) best = each;
  return best;
}

enum class Size { row, whole };  // a write has one element per row, or all

std::optional<Size> size_of_write(const Place& write, const RowPlan& plan) {
  int64_t count = element_count(write.shape);
  if (count == plan.rows * plan.length && plan.length > 1) return Size::whole;
  if (count == plan.rows) return Size::row;
  return std::nullopt;
}

// For rows shared by lanes of one warp any block size works if it divides the rows, or the kernel checks
// bounds.
FreeThreads free_threads(const RowPlan& plan) {
  if (!plan.lanes_of_warp() || plan.transposed()) return {};
  FreeThreads out{.in_all = plan.rows * plan.lanes()};
  for (int64_t threads : {64, 128, 256})
    if (plan.overhangs() || plan.rows % (threads / plan.lanes()) == 0) out.values.push_back(threads);
  return std::ranges::find(out.values, plan.threads()) != out.values.end() ? out : FreeThreads{};
}

// Blocks of a team communicate through memory that is zeroed before the launch.
void add_team(Kernel& kernel, Workspace& workspace, const RowEmitter& emitter) {
  const RowPlan& plan = emitter.plan();
  kernel.team = plan.team()->blocks;
  kernel.shared_bytes = emitter.shared_bytes();
  kernel.resident = static_cast<int>(plan.team()->resident);
  workspace = {};
  workspace.add({"unsigned", 4}, "tickets", 1);
  kernel.scratch = {"tickets"};
  for (const RowEmitter::TeamParts& each : emitter.team_parts) {
    // Each word has a ready flag.
    workspace.add({format("stitch::Awaited<{}>", each.type.name), 2 * each.type.bytes}, each.name,
                  plan.rows * plan.team()->blocks);
    kernel.scratch.push_back(each.name);
  }
  kernel.written.insert(kernel.scratch.begin(), kernel.scratch.end());
  kernel.before = call(
      "STITCH_CUDA", {call("cudaMemsetAsync", {named("workspace"), 0, workspace.bytes(), named("stream")})});
}

// Loads per-channel parameters of batch norms before any barrier: their latency would delay the last step.
void load_parameters(RowEmitter& emitter, const RegionRequest& request, const Indices& kept) {
  for (int32_t n : request.region.nodes) {
    const Node& node = request.graph.node(n);
    if (node.op != Op::batch_norm) continue;
    for (size_t i = 1; i < node.operands.size(); ++i)
      if (node.operands[i] != ValueId::none) (void)emitter.value(node.operands[i], kept);
  }
}

// If all rows run at once they wait for memory latency. So operands of later passes (weights, the other side
// of a sum) are loaded before the first wait for a row's statistic; nvcc leaves such loads after the
// shuffles. Only if the registers don't reduce occupancy.
bool loads_ahead(const RowPlan& plan, const std::vector<RowEmitter::Load>& loads, const GpuSpec& gpu) {
  if (plan.held == 0 || plan.team() || plan.columns() || plan.transposed()) return false;
  constexpr int64_t for_the_rest = 32;
  const int64_t registers = std::min<int64_t>(128, gpu.registers_per_sm / plan.threads());  // per thread
  const int64_t arrays = std::ranges::count(loads, true, &RowEmitter::Load::of_element);
  return std::ranges::any_of(loads, &RowEmitter::Load::late) &&
         arrays * plan.held * plan.width <= registers - for_the_rest &&
         plan.rows * plan.lanes() * registers <= int64_t{gpu.sms} * gpu.registers_per_sm;
}

// Everything in one kernel. Statements are generated twice: the first time determines which statistics are
// needed in which order, the second lets each pass use what earlier ones hold in registers. A team's memory
// is scarcer: a third time holds only what the second one reads again. A third time also loads ahead.
std::optional<Draft> fused(const RegionRequest& request, const RowPlan& plan, Workspace& workspace) {
  std::vector<std::pair<Reduction, Indices>> asked;
  std::optional<std::set<Key>> keep;
  std::vector<RowEmitter::Load> ahead;
  int times = plan.team() ? 3 : 2;
  for (int time = 1; time <= times; ++time) {
    RowEmitter emitter(request, plan);
    emitter.collective = true;
    emitter.keep = keep;
    Indices kept = emitter.open_row();
    if (plan.cluster() > 1) load_parameters(emitter, request, kept);
    if (!ahead.empty()) {
      (void)emitter.open_elements(plan.reduction);
      for (const RowEmitter::Load& load : ahead) (void)emitter.value(load.id, load.at);
      emitter.close_elements();
    }
    for (const auto& [reduction, row] : asked) (void)emitter.statistics(reduction, row);
    Index row_number = flatten(kept, plan.reduction.kept_shape());
    const Expression guard = plan.overhangs() ? named("inside") : Expression();
    auto is = [&](Size size) {
      return [&, size](const Place& write) { return size_of_write(write, plan) == size; };
    };
    if (std::ranges::any_of(request.writes, is(Size::whole))) {
      if (!guard.empty()) emitter.guard(guard);
      Indices reduced = emitter.open_elements(plan.reduction);
      Indices at = plan.reduction.operand_at(plan.reduction.space_at(kept, reduced));
      const Shape& shape = request.graph.type(plan.reduction.operand).shape;
      for (const Place& write : request.writes) {
        if (size_of_write(write, plan) != Size::whole) continue;
        Indices there = write.shape == shape ? at : unflatten(flatten(at, shape), write.shape);
        Expression value = emitter.value(write.value, there);
        if (plan.transposed())
          emitter.keep_transposed(flatten(reduced, plan.reduction.reduced_shape()), value);
        else
          emitter.store(write, there, value);
      }
      emitter.close_elements();
      if (!guard.empty()) emitter.close();
      for (const Place& write : request.writes)
        if (plan.transposed() && size_of_write(write, plan) == Size::whole) emitter.store_transposed(write);
    }
    if (std::ranges::any_of(request.writes, is(Size::row))) {
      std::vector<std::pair<Indices, Expression>> values;
      for (const Place& write : request.writes) {
        if (size_of_write(write, plan) != Size::row) continue;
        Indices there = unflatten(row_number, write.shape);
        values.emplace_back(there, emitter.value(write.value, there));
      }
      Expression writer = plan.lanes() > 1 ? named("lane") == 0 : Expression();
      if (plan.team() || plan.cluster() > 1) writer = both(writer, named("part") == 0);
      writer = both(writer, guard);
      if (!writer.empty()) emitter.guard(writer);
      size_t next = 0;
      for (const Place& write : request.writes)
        if (size_of_write(write, plan) == Size::row) {
          emitter.store(write, values[next].first, values[next].second);
          ++next;
        }
      if (!writer.empty()) emitter.close();
    }
    if (emitter.failed) return std::nullopt;
    asked = emitter.asked;
    if (time == 2 && loads_ahead(plan, emitter.row_loads, request.context.gpu)) {
      ahead = emitter.row_loads;
      times = 3;
    }
    if (time == 2 && plan.team()) {
      const std::set<std::string> read = names_read(emitter.scopes().take());
      keep.emplace();
      for (const auto& [key, each] : emitter.held())
        if (read.contains(each.array)) keep->insert(key);
    }
    if (time < times) continue;
    Draft out{kernel_of(emitter, request.name, plan.threads(), {plan.blocks()}), emitter.loads};
    out.kernel.free_threads = free_threads(plan);
    out.kernel.width = plan.width;
    out.kernel.cluster = plan.cluster();
    // Rows not held in registers or shared memory are read again by every loop over them.
    if (plan.held == 0)
      out.kernel.passes = std::ssize(asked) + std::ranges::any_of(request.writes, is(Size::whole));
    if (plan.team()) {
      // Nothing to hold, or more than planned.
      if (emitter.shared_bytes() == 0 ||
          emitter.shared_bytes() > request.context.gpu.shared_per_block / plan.team()->resident - team_extra)
        return std::nullopt;
      add_team(out.kernel, workspace, emitter);
    }
    return out;
  }
  return std::nullopt;
}

std::string shared_by(const RowPlan& plan) {
  if (plan.team())
    return format("a row of {} elements is held in the shared memory of {} blocks", plan.length,
                  plan.team()->blocks);
  if (plan.transposed())
    return format(
        "{} rows of {} elements a block, {} lane{} a row, written across rows through shared memory",
        transposed_rows, plan.length, plan.lanes(), plan.lanes() > 1 ? "s" : "");
  if (plan.cluster() > 1)
    return format("{} rows of {} elements side by side in a cluster of {} blocks, {} threads of each a row",
                  plan.columns()->columns, plan.length, plan.cluster(), plan.lanes());
  if (plan.columns())
    return format("{} rows of {} elements side by side in a block, {} thread{} a row",
                  plan.columns()->columns, plan.length, plan.lanes(), plan.lanes() > 1 ? "s" : "");
  if (plan.block()) return format("a block of {} threads a row of {} elements", plan.threads(), plan.length);
  return format("{} lane{} a row of {} elements", plan.lanes(), plan.lanes() > 1 ? "s" : "", plan.length);
}

// One result, contiguous across rows: NHWC to NCHW.
bool lies_across(const RegionRequest& request, const RowPlan& plan) {
  const Shape& shape = request.graph.type(plan.reduction.operand).shape;
  const Place* whole = nullptr;
  for (const Place& write : request.writes)
    if (size_of_write(write, plan) == Size::whole) {
      if (whole || write.shape != shape) return false;
      whole = &write;
    }
  if (!whole || plan.reduction.grouped || plan.length < 8 || plan.rows < transposed_rows || plan.column)
    return false;
  if (request.graph.type(whole->value).dtype != DType::f32) return false;
  size_t kept = 0;  // which of the kept dimensions d is
  for (size_t d = 0; d < shape.size(); ++d) {
    if (plan.reduction.along[d]) continue;
    if (shape[d] > 1 && whole->strides[d] == 1) return plan.kept_order.back() == kept;
    ++kept;
  }
  return false;
}

// A batch norm of few pixels is one kernel instead of three: each launch takes 1.5 us and more, and 1960
// pixels of 512 channels take 8.5 us by stages (H200).
bool is_short_batch_norm(const RegionRequest& request, const RowPlan& plan) {
  return plan.column && plan.length <= most_short_column &&
         request.graph.node(plan.reduction.node).op == Op::batch_norm;
}

// Whether outputs have the input's layout.
bool keeps_order(const RegionRequest& request, const RowPlan& plan) {
  const std::vector<int64_t> strides = storage_strides(request, plan.reduction.operand);
  const Shape& shape = request.graph.type(plan.reduction.operand).shape;
  return std::ranges::none_of(request.writes, [&](const Place& write) {
    for (size_t d = 0; d < shape.size() && write.shape == shape; ++d)
      if (shape[d] > 1 && strides[d] == 1 && write.strides[d] != 1) return true;
    return false;
  });
}

// Long adjacent rows, in fp16 or written in another layout: stages take vectors of rows and transpose their
// output. With one block per row, every line of a transposed result is written in eight parts or more (1.35
// GB took 18 ms on an H200).
bool better_by_stages(const RegionRequest& request, const RowPlan& plan) {
  if (plan.length_varies) return false;
  if (!plan.column) return plan.length > most_transposed_length && lies_across(request, plan);
  if (plan.length <= 512) return false;
  const bool is_short = is_short_batch_norm(request, plan);
  for (const Place& read : request.reads)
    if (!is_short && size_of(read.dtype) == 2 && element_count(read.shape) * 2 > plan.rows * plan.length)
      return true;
  return !keeps_order(request, plan);
}

// Unless the knob `team` is set, the estimated faster one.
bool by_team(const RegionRequest& request, const RowPlan& plan) {
  if (const int64_t told = request.region.choice("team", -1); told >= 0) return told == 1;
  return team_pays(plan, request.graph.node(plan.reduction.node).op, request.context.gpu);
}

// By lanes, a block or a team per row; `plan` then says which.
std::optional<Draft> fused_as_suits(const RegionRequest& request, RowPlan& plan, bool rewrites, bool across,
                                    Workspace& workspace) {
  const GpuSpec& gpu = request.context.gpu;
  plan_fused(plan, gpu);
  if (across && plan_transposed(plan)) return fused(request, plan, workspace);
  // Rows that are read again and written: a team holds them.
  if (rewrites && (!plan.held || plan.blocks() < gpu.sms))
    for (int64_t values = 1; values <= 3; ++values) {
      RowPlan team = plan;
      if (!plan_team(team, 4 * values, gpu) || !by_team(request, team)) continue;
      if (std::optional<Draft> made = fused(request, team, workspace)) {
        plan = team;
        return made;
      }
    }
  // Too few rows for one block each, and long ones: parts of rows are better.
  const int64_t few =
      plan.held ? static_cast<int64_t>(std::bit_floor(static_cast<unsigned>(gpu.sms / 2))) : 2 * gpu.sms;
  if (!plan.length_varies && plan.blocks() < few && plan.length >= (plan.column ? 1024 : 16384) &&
      !(plan.held && is_short_batch_norm(request, plan)))
    return std::nullopt;
  return fused(request, plan, workspace);
}

// The region as one kernel, if possible.
std::optional<RegionCode> write_fused(const RegionRequest& request) {
  std::optional<Reduction> reduction = main_reduction(request.graph, request.region);
  RowPlan plan = plan_rows(request, *reduction);
  bool fits = plan.rows > 0 && plan.length > 0 &&
              std::ranges::all_of(request.writes,
                                  [&](const Place& write) { return size_of_write(write, plan).has_value(); });
  bool rewrites = std::ranges::any_of(
      request.writes, [&](const Place& write) { return size_of_write(write, plan) == Size::whole; });
  std::optional<Draft> best;
  Workspace workspace;
  std::string how;
  const bool across = fits && lies_across(request, plan);
  int64_t largest = 1;
  for (const auto* places : {&request.reads, &request.writes})
    for (const Place& place : *places)
      if (element_count(place.shape) * 2 > plan.rows * plan.length && !(across && places == &request.writes))
        largest = std::max(largest, size_of(place.dtype));
  const int64_t widest = plan.length < 64 || plan.length_varies ? 1 : 16 / largest;
  for (int64_t width = std::min(widest, request.context.widest_vector); fits && width >= 1; width /= 2)
    for (RowPlan& next : with_width(plan, width)) {
      Workspace for_team;
      std::optional<Draft> made = fused_as_suits(request, next, rewrites, across, for_team);
      if (!made || !made->pays() || (best && !made->better_than(*best))) continue;
      best = std::move(made);
      workspace = std::move(for_team);
      how = shared_by(next);
      if (next.held && !next.team()) how += ", held in registers between the passes";
    }
  if (!best) return std::nullopt;
  std::string idea = format("{}: {}. {} moved.", ops_text(request), how, traffic_text(request));
  return assemble(request, idea, {std::move(best->kernel)}, workspace);
}

// A batch norm of adjacent channels held in the registers of a cluster: one kernel that reads once, where one
// block could hold only a few channels of the smallest images, and stages need three kernels.
std::optional<RegionCode> write_by_cluster(const RegionRequest& request, const Reduction& reduction) {
  const Graph& graph = request.graph;
  RowPlan plan = plan_rows(request, reduction);
  if (graph.node(reduction.node).op != Op::batch_norm || !plan.column || !keeps_order(request, plan))
    return std::nullopt;
  int64_t values = 0;
  for (int32_t n : request.region.nodes) values += graph.node(n).op == Op::batch_norm;
  if (std::ranges::any_of(request.writes, [&](const Place& write) { return !size_of_write(write, plan); }) ||
      !plan_cluster(plan, values, request.context.gpu))
    return std::nullopt;
  Workspace none;
  std::optional<Draft> made = fused(request, plan, none);
  if (!made) return std::nullopt;
  std::string idea = format("{}: {}. {} moved.", ops_text(request), shared_by(plan), traffic_text(request));
  return assemble(request, idea, {std::move(made->kernel)}, none);
}

}  // namespace

Result<void> accepts_row(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_CHECK(accepts_nesting(graph, region));
  bool any = false;
  for (int32_t n : region.nodes) {
    bool reduces = reduction_of(graph, n).has_value();
    any |= reduces;
    if (!reduces && !is_expression(graph, n))
      return work_error("technique", format("{}: {} is neither a reduction nor computed element by element",
                                            region.name, info(graph.node(n).op).name));
  }
  if (!any) return work_error("technique", format("{}: nothing is reduced", region.name));
  return {};
}

Result<RegionCode> write_row(const RegionRequest& request) {
  STITCH_CHECK(accepts_row(request.context, request.region));
  std::optional<Reduction> reduction = main_reduction(request.graph, request.region);
  if (better_by_stages(request, plan_rows(request, *reduction))) return write_staged(request);
  if (std::optional<RegionCode> code = write_fused(request)) return *code;
  return write_staged(request);
}

Result<void> accepts_batch_norm(const plan::Context& context, const plan::Region& region) {
  STITCH_CHECK(accepts_row(context, region));
  const Graph& graph = context.graph;
  for (int32_t n : region.nodes)
    if (graph.node(n).op == Op::batch_norm) return {};
  return work_error("technique", format("{}: there is no batch_norm", region.name));
}

Result<RegionCode> write_batch_norm(const RegionRequest& request) {
  STITCH_CHECK(accepts_batch_norm(request.context, request.region));
  std::optional<Reduction> reduction = main_reduction(request.graph, request.region);
  if (reduction)
    if (std::optional<RegionCode> code = write_by_cluster(request, *reduction)) return *code;
  if (reduction && better_by_stages(request, plan_rows(request, *reduction))) return write_staged(request);
  // Channels that fit into registers are read once.
  if (reduction)
    if (std::optional<RegionCode> code = write_fused(request)) return *code;
  return write_staged(request);
}

}  // namespace stitch::code::loops
