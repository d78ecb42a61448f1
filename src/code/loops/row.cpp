#include "code/loops/row.h"

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "code/loops/families.h"
#include "code/loops/row_emitter.h"
#include "code/loops/stages.h"

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

enum class Size { row, whole };  // what a write has of each row: one element, or all

std::optional<Size> size_of_write(const Place& write, const RowPlan& plan) {
  int64_t count = element_count(write.shape);
  if (count == plan.rows * plan.length && plan.length > 1) return Size::whole;
  if (count == plan.rows) return Size::row;
  return std::nullopt;
}

// Everything in one kernel. Statements are written twice: the first time says which findings are needed and
// in which order, so that the second time each pass can use what those before it hold in registers.
std::optional<Attempt> fused(const RegionRequest& request, const RowPlan& plan) {
  std::vector<std::pair<Reduction, Indices>> asked;
  for (bool last : {false, true}) {
    RowEmitter emitter(request, plan);
    emitter.collective = true;
    Indices kept = emitter.open_row();
    for (const auto& [reduction, row] : asked) (void)emitter.findings(reduction, row);
    Index row_number = flatten(kept, plan.reduction.kept_shape());
    std::string guard = plan.overhangs() ? "inside" : "";
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
        std::string text = emitter.value(write.value, there);
        emitter.store(write, there, text);
      }
      emitter.close_elements();
      if (!guard.empty()) emitter.close();
    }
    if (std::ranges::any_of(request.writes, is(Size::row))) {
      std::vector<std::pair<Indices, std::string>> texts;
      for (const Place& write : request.writes) {
        if (size_of_write(write, plan) != Size::row) continue;
        Indices there = unflatten(row_number, write.shape);
        texts.emplace_back(there, emitter.value(write.value, there));
      }
      std::string writer = plan.lanes > 1 ? "lane == 0" : "";
      if (!guard.empty()) writer += (writer.empty() ? "" : " && ") + guard;
      if (!writer.empty()) emitter.guard(writer);
      size_t next = 0;
      for (const Place& write : request.writes)
        if (size_of_write(write, plan) == Size::row) {
          emitter.store(write, texts[next].first, texts[next].second);
          ++next;
        }
      if (!writer.empty()) emitter.close();
    }
    if (emitter.failed) return std::nullopt;
    asked = emitter.asked;
    if (!last) continue;
    Attempt out({}, emitter);
    out.kernel.name = request.name;
    out.kernel.threads = plan.threads;
    out.kernel.blocks = std::to_string(plan.blocks());
    out.kernel.body = emitter.scopes().take(2);
    out.kernel.used = emitter.used();
    out.kernel.packed = emitter.packed();
    out.kernel.width = plan.width;
    return out;
  }
  return std::nullopt;
}

std::string shared_by(const RowPlan& plan) {
  if (plan.column)
    return format("{} rows of {} elements side by side in a block, {} thread{} a row", plan.columns,
                  plan.length, plan.lanes, plan.lanes > 1 ? "s" : "");
  if (plan.whole_block())
    return format("a block of {} threads a row of {} elements", plan.threads, plan.length);
  return format("{} lane{} a row of {} elements", plan.lanes, plan.lanes > 1 ? "s" : "", plan.length);
}

}  // namespace

Result<void> accepts_row(const Graph& graph, const plan::Region& region) {
  bool any = false;
  for (int32_t n : region.nodes) {
    bool reduces = reduction_of(graph, n).has_value();
    any |= reduces;
    if (!reduces && !is_expression(graph, n))
      return work_error("technique", format("{}: {} is neither a reduction nor computed element by element",
                                            region.name, info(graph.nodes[static_cast<size_t>(n)].op).name));
  }
  if (!any) return work_error("technique", format("{}: nothing is reduced", region.name));
  return {};
}

Result<RegionCode> write_row(const RegionRequest& request) {
  STITCH_CHECK(accepts_row(request.graph, request.region));
  std::optional<Reduction> reduction = main_reduction(request.graph, request.region);
  RowPlan plan = plan_rows(request, *reduction);
  bool fits = plan.rows > 0 && plan.length > 0 &&
              std::ranges::all_of(request.writes,
                                  [&](const Place& write) { return size_of_write(write, plan).has_value(); });
  std::optional<Attempt> best;
  std::string how;
  int64_t largest = 1;
  for (const auto* places : {&request.reads, &request.writes})
    for (const Place& place : *places)
      if (element_count(place.shape) * 2 > plan.rows * plan.length)
        largest = std::max(largest, size_of(place.dtype));
  for (int64_t width = plan.length < 64 ? 1 : 16 / largest; fits && width >= 1; width /= 2)
    for (RowPlan& next : with_width(plan, width)) {
      plan_fused(next);
      // Too few rows for one block each, and long ones: parts of rows do better.
      if (next.blocks() < 64 && next.length >= 16384) continue;
      std::optional<Attempt> made = fused(request, next);
      if (!made || !made->pays() || (best && !made->better_than(*best))) continue;
      best = std::move(made);
      how = format("{}{}", shared_by(next), next.held ? ", held in registers between the passes" : "");
    }
  if (!best) return write_staged(request);
  std::string idea = format("{}: {}. {} moved.", ops_text(request), how, traffic_text(request));
  return assemble(request, idea, {std::move(best->kernel)}, {});
}

Result<void> accepts_batch_norm(const Graph& graph, const plan::Region& region) {
  STITCH_CHECK(accepts_row(graph, region));
  for (int32_t n : region.nodes)
    if (graph.nodes[static_cast<size_t>(n)].op == Op::batch_norm) return {};
  return work_error("technique", format("{}: there is no batch_norm", region.name));
}

Result<RegionCode> write_batch_norm(const RegionRequest& request) {
  STITCH_CHECK(accepts_batch_norm(request.graph, request.region));
  return write_staged(request);
}

}  // namespace stitch::code::loops
