#include "code/loops/loop.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "base/format.h"
#include "code/loops/families.h"

namespace stitch::code::loops {

namespace {

// The dimensions of a place as they lie in memory, outermost first.
std::vector<size_t> storage_order(const Place& place) {
  std::vector<size_t> order(place.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    // Dimensions of one element have no place of their own.
    if (place.shape[a] == 1 || place.shape[b] == 1) return false;
    return place.strides[a] > place.strides[b];
  });
  return order;
}

// `joined`: packs may reach across that many of the innermost dimensions.
Attempt attempt(const std::vector<const Place*>& writes, const std::string& name, const MakeEmitter& make,
                int64_t width, size_t joined) {
  const Place& first = *writes[0];
  std::vector<size_t> order = storage_order(first);
  Shape walked;
  for (size_t d : order) walked.push_back(first.shape[d]);
  int64_t count = element_count(first.shape) / width;

  std::unique_ptr<LoopEmitter> emitter = make();
  const char *type = emitter->index_type(), *unit = width > 1 ? "pack" : "element";
  constexpr int threads = 256;
  emitter->line(format("const {0} {1} = static_cast<{0}>(blockIdx.x) * {2} + static_cast<{0}>(threadIdx.x);",
                       type, unit, threads));
  emitter->line(format("if ({} >= {}) return;", unit, count));
  Index pack = Index::variable(unit, count), lane = emitter->open_pack(width);
  Indices in_order = unpacked(pack, lane, width, walked, joined);
  Indices at(order.size());
  for (size_t i = 0; i < order.size(); ++i) at[order[i]] = in_order[i];
  for (const Place* write : writes) {
    Indices there = write->shape == first.shape ? at : unflatten(flatten(at, first.shape), write->shape);
    std::string text = emitter->value(write->value, there);
    emitter->store(*write, there, text);
  }
  emitter->close_pack();

  Kernel kernel;
  kernel.name = name;
  kernel.threads = threads;
  kernel.blocks = std::to_string(divided_up(count, threads));
  kernel.body = emitter->scopes().take(2);
  kernel.used = emitter->used();
  kernel.packed = emitter->packed();
  kernel.width = width;
  kernel.scratch = emitter->scratch;
  return Attempt(std::move(kernel), *emitter);
}

}  // namespace

Kernel loop_kernel(const RegionRequest& request, const std::vector<const Place*>& writes,
                   const std::string& name, const MakeEmitter& make) {
  const Place& first = *writes[0];
  int64_t count = element_count(first.shape), largest = 1;
  for (const auto* places : {&request.reads, &request.writes})
    for (const Place& place : *places)
      if (element_count(place.shape) * 2 > count) largest = std::max(largest, size_of(place.dtype));
  std::vector<size_t> order = storage_order(first);
  int64_t inner = 1;
  for (size_t d : order)
    if (first.shape[d] != 1) inner = first.shape[d];
  bool contiguous =
      std::ranges::any_of(order, [&](size_t d) { return first.shape[d] == inner && first.strides[d] == 1; });

  Shape walked;
  for (size_t d : order) walked.push_back(first.shape[d]);
  std::optional<Attempt> best;
  int64_t widest = contiguous && count >= 1024 ? std::min<int64_t>(16 / largest, 8) : 1;
  for (int64_t width = widest; width >= 1; width /= 2)
    for (size_t joined : joinable(walked, width)) {
      Attempt next = attempt(writes, name, make, width, joined);
      if (next.pays() && (!best || next.better_than(*best))) best = std::move(next);
    }
  return best->kernel;
}

std::vector<Kernel> loop_kernels(const RegionRequest& request, const MakeEmitter& make) {
  std::map<int64_t, std::vector<const Place*>, std::greater<>> by_count;
  for (const Place& place : request.writes)
    if (int64_t count = element_count(place.shape)) by_count[count].push_back(&place);
  std::vector<Kernel> kernels;
  for (const auto& [count, writes] : by_count) {
    std::string name = request.name;
    if (by_count.size() > 1) name += format("_of_{}", count);
    kernels.push_back(loop_kernel(request, writes, name, make));
  }
  return kernels;
}

Result<void> accepts_loop(const Graph& graph, const plan::Region& region) {
  for (int32_t n : region.nodes) {
    if (auto reduction = reduction_of(graph, n)) {
      if (reduction->length() > most_inlined)
        return work_error("technique", format("{}: a reduction over {} elements is no loop of one thread",
                                              region.name, reduction->length()));
    } else if (!is_expression(graph, n)) {
      return work_error("technique", format("{}: {} is not computed element by element", region.name,
                                            info(graph.nodes[static_cast<size_t>(n)].op).name));
    }
  }
  return {};
}

Result<RegionCode> write_loop(const RegionRequest& request) {
  STITCH_CHECK(accepts_loop(request.graph, request.region));
  auto make = [&] { return std::make_unique<LoopEmitter>(request); };
  std::string idea = format(
      "{}: each thread makes neighbouring elements of the results, and what is between is never stored. {} "
      "moved.",
      ops_text(request), traffic_text(request));
  return assemble(request, idea, loop_kernels(request, make), {});
}

}  // namespace stitch::code::loops
