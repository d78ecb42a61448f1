#include "code/loops/loop.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>

#include "base/format.h"
#include "code/loops/reduction.h"

namespace stitch::code::loops {

namespace {

// A place's dimensions in memory order, outermost first.
std::vector<size_t> storage_order(const Place& place) {
  std::vector<size_t> order(place.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    // Dimensions of size 1 have no order.
    if (place.shape[a] == 1 || place.shape[b] == 1) return false;
    return place.strides[a] > place.strides[b];
  });
  return order;
}

// Indices of the first write, from a vector's number and the lane.
using Locate = std::function<Indices(const Index& vector, const Index& lane)>;

// Vectors per thread: equal shares, or along a dimension.
struct ItemsPerThread {
  int64_t count = 1;
  std::optional<size_t> dim;
};

// `together`: lanes are contiguous in memory.
Draft draft(const std::vector<const Place*>& writes, const std::string& name, const MakeEmitter& make,
            int64_t width, const Locate& locate, bool together = true, const ItemsPerThread& items = {}) {
  const Place& first = *writes[0];
  int64_t count = element_count(first.shape) / width / items.count;

  std::unique_ptr<LoopEmitter> emitter = make();
  const Type type = emitter->index_type();
  const std::string unit = width > 1 ? "index" : "element";
  // Few threads with much work each: small blocks, so that every multiprocessor has some.
  const RegionRequest& deciding = emitter->request().deciding();
  const int64_t usual = deciding.decided_elements(first) / width / items.count;
  const int threads = !together && usual < int64_t{4} * 256 * deciding.context.gpu.sms ? 64 : 256;
  // Backwards after stages: what they read last may still be in L2.
  Expression block = named("blockIdx.x");
  if (emitter->stages) block = named("gridDim.x") - 1 - block;
  int64_t all_threads = count;
  if (emitter->wanted_list_parts > 1) {
    all_threads = emitter->share_lists(thread_number(type, block), unit, count);
  } else {
    emitter->add(define_constant(type, unit, thread_number(type, block)));
    emitter->add(only_if(named(unit) >= count, {Return{}}));
  }
  Index vector = Index::variable(unit, count);
  if (items.count > 1) emitter->scopes().open({For{type, "item", 0, items.count, 1, 4}}, {"item"}, false);
  const Index item = Index::variable("item", items.count);
  Index lane = emitter->open_vector(width, together);
  Indices at = locate(items.dim ? vector : item * count + vector, lane);
  if (items.dim) at[*items.dim] = at[*items.dim] + item * (first.shape[*items.dim] / items.count);
  auto place_in = [&](const Place& write) {
    return write.shape == first.shape ? at : unflatten(flatten(at, first.shape), write.shape);
  };
  // All loads come before the first store: a state may be updated in place, so that loads couldn't pass
  // stores.
  Expressions values;
  for (const Place* write : writes) values.push_back(emitter->value(write->value, place_in(*write)));
  for (size_t i = 0; i < writes.size(); ++i) emitter->store(*writes[i], place_in(*writes[i]), values[i]);
  emitter->close_vector();
  if (items.count > 1) emitter->close();

  Draft out{kernel_of(*emitter, name, threads, {}), emitter->loads};
  out.kernel.free_threads = {all_threads, {64, 128, 256}};
  out.kernel.width = together ? width : 1;
  out.kernel.scratch = emitter->scratch;
  out.loads.inlined /= width;
  return out;
}

}  // namespace

// Adjacent threads compute adjacent vectors, as many as a warp has lanes for besides the parts. No thread
// returns before the parts are summed: threads past the end repeat the last vector without storing it.
int64_t LoopEmitter::share_lists(const Expression& thread, const std::string& unit, int64_t count) {
  list_parts = wanted_list_parts;
  const int64_t vectors_per_warp = 32 / list_parts;
  const Type type = index_type();
  add(define_constant(type, "thread", thread));
  add(define_constant(type, "list_part", named("thread") / vectors_per_warp % list_parts));
  add(define_constant(type, "wanted_index",
                      named("thread") / 32 * vectors_per_warp + named("thread") % vectors_per_warp));
  add(define_constant(type, unit, select(named("wanted_index") < count, named("wanted_index"), count - 1)));
  store_condition_ = both(named("list_part") == 0, named("wanted_index") < count);
  return divided_up(count, vectors_per_warp) * 32;
}

namespace {

// Vectors along the result's `joined` innermost dimensions.
Locate along_result(const Place& write, int64_t width, size_t joined) {
  return [=, order = storage_order(write)](const Index& vector, const Index& lane) {
    Shape walked;
    for (size_t d : order) walked.push_back(write.shape[d]);
    Indices in_order = vector_element(vector, lane, width, walked, joined), at(order.size());
    for (size_t i = 0; i < order.size(); ++i) at[order[i]] = in_order[i];
    return at;
  };
}

// The contiguous dimension, if any.
std::optional<size_t> innermost(const Place& place) {
  for (size_t d = 0; d < place.shape.size(); ++d)
    if (place.shape[d] > 1 && place.strides[d] == 1) return d;
  return std::nullopt;
}

// Reads one layout and writes another (NCHW, NHWC). Vectors go along channels and adjacent threads along
// pixels, so that both sides use whole sectors: a few vectors next to each other, and single elements of as
// many adjacent pixels.
struct Crossing {
  Place vectorised, single;  // vectors are whole in the first, threads are adjacent in the second
  size_t dim;                // the vector's dimension
  int64_t width;
};
std::optional<Crossing> crossing_of(const RegionRequest& request, const Place& write) {
  std::optional<size_t> own = innermost(write);
  // Bytes read in another layout, by layout and type: parts of a concat count together.
  std::map<std::pair<size_t, DType>, std::pair<int64_t, const Place*>> others;
  for (const Place& read : request.reads) {
    std::optional<size_t> other = innermost(read);
    if (!own || !other || *own == *other || read.shape.size() != write.shape.size()) continue;
    auto& [elements, example] = others[{*other, read.dtype}];
    elements += request.decided_elements(read);
    example = &read;
  }
  for (const auto& [order, found] : others) {
    const auto& [elements, read] = found;
    const int64_t written = request.decided_elements(write);
    if (elements * 4 < written || written < 4096) continue;
    bool reads_vectors =
        size_of(read->dtype) < size_of(write.dtype) || (read->dtype == write.dtype && order.first == 1);
    const Place &vectorised = reads_vectors ? *read : write, &single = reads_vectors ? write : *read;
    Crossing out{vectorised, single, *innermost(vectorised),
                 std::min(16 / size_of(vectorised.dtype), request.context.widest_vector)};
    while (out.width > 1 && write.shape[out.dim] % out.width != 0) out.width /= 2;
    if (out.width > 1) return out;
  }
  return std::nullopt;
}

Locate across(const Place& write, const Crossing& crossing) {
  return [=, order = storage_order(crossing.single)](const Index& vector, const Index& lane) {
    // As many vectors as leave a warp enough adjacent pixels for 32-byte sectors.
    int64_t vectors = write.shape[crossing.dim] / crossing.width, pair = size_of(crossing.single.dtype);
    while (vectors % pair != 0) pair /= 2;
    Shape walked;
    for (size_t d : order) walked.push_back(d == crossing.dim ? vectors / pair : write.shape[d]);
    walked.push_back(pair);
    Indices in_order = unflatten(vector, walked), at(order.size());
    for (size_t i = 0; i < order.size(); ++i) at[order[i]] = in_order[i];
    at[crossing.dim] = (at[crossing.dim] * pair + in_order.back()) * crossing.width + lane;
    return at;
  };
}

// A dimension along which all elements use the same short rows, as the channels of a softmax: a thread takes
// the whole dimension and reads the row once. Adjacent threads take adjacent rows.
std::optional<size_t> shared_rows(const RegionRequest& request, const Place& write) {
  for (int32_t n : request.region.nodes) {
    auto reduction = reduction_of(request.graph, n);
    if (!reduction || reduction->grouped || reduction->length() > most_inlined) continue;
    if (reduction->space.size() != write.shape.size() || std::ranges::count(reduction->along, true) != 1)
      continue;
    auto d = static_cast<size_t>(std::ranges::find(reduction->along, true) - reduction->along.begin());
    if (write.shape[d] == reduction->length() && write.shape[d] > 1 && write.strides[d] != 1) return d;
  }
  return std::nullopt;
}

// Weights as large as a row, shared by all rows: other data evicts them from L2 between rows. A thread that
// handles its position in every row reads them once.
int64_t large_weights(const RegionRequest& request, const Place& write) {
  // Of 50 MB on an H200, 33 MB of layer_norm's weights don't stay.
  const int64_t much = std::bit_floor(static_cast<uint64_t>(request.context.gpu.l2 / 5));
  if (write.strides != contiguous_strides(write.shape)) return 1;
  std::map<int64_t, int64_t> bytes_by_items;
  for (const auto* places : {&request.reads, &request.weights})
    for (const Place& place : *places) {
      Shape shape = place.shape;
      while (!shape.empty() && shape.front() == 1) shape.erase(shape.begin());
      if (shape.size() >= write.shape.size() ||
          !std::equal(shape.rbegin(), shape.rend(), write.shape.rbegin()) ||
          place.strides != contiguous_strides(place.shape))
        continue;
      int64_t count = element_count(shape);
      bytes_by_items[element_count(write.shape) / std::max<int64_t>(count, 1)] +=
          count * size_of(place.dtype);
    }
  for (auto [items, bytes] : bytes_by_items)
    if (bytes >= much) return items;
  return 1;
}

// Parameters shared by all pixels of a channel, several vectors of them, cost more than the pixel: a thread
// takes the same channels of a few pixels. batch_norm of 672 channels in NHWC took 890 us on an H200; its
// bytes take 314.
std::optional<ItemsPerThread> items_by_channel(const RegionRequest& request, const Place& write,
                                               int64_t vectors) {
  const int64_t enough_threads = int64_t{768} * request.deciding().context.gpu.sms;
  std::vector<size_t> dims;
  for (size_t d = 2; d < write.shape.size(); ++d) dims.push_back(d);
  dims.push_back(0);
  for (int64_t count = 8; count > 1; --count)
    for (size_t d : dims)
      if (write.shape[d] % count == 0 && write.shape[d] > count && vectors / count >= enough_threads &&
          !request.context.varies([&](const Graph& at) { return at.type(write.value).shape[d]; }))
        return ItemsPerThread{count, d};
  return std::nullopt;
}

// The place with a thread's share of its elements.
Place share_of(const Place& write, const ItemsPerThread& items) {
  Place out = write;
  out.shape[*items.dim] /= items.count;
  return out;
}

Locate along_others(const Place& write, size_t dim) {
  return [=, order = storage_order(write)](const Index& vector, const Index& lane) {
    Shape walked;
    for (size_t d : order) walked.push_back(d == dim ? 1 : write.shape[d]);
    Indices in_order = unflatten(vector, walked), at(order.size());
    for (size_t i = 0; i < order.size(); ++i) at[order[i]] = order[i] == dim ? lane : in_order[i];
    return at;
  };
}

}  // namespace

Kernel loop_kernel(const RegionRequest& request, const std::vector<const Place*>& writes,
                   const std::string& name, const MakeEmitter& make) {
  const GpuSpec& gpu = request.deciding().context.gpu;
  const Place& first = *writes[0];
  int64_t count = element_count(first.shape), largest = 1;
  const int64_t decided = request.decided_elements(first);
  for (const auto* places : {&request.reads, &request.writes})
    for (const Place& place : *places)
      if (request.decided_elements(place) * 2 > decided) largest = std::max(largest, size_of(place.dtype));
  std::vector<size_t> order = storage_order(first);
  int64_t inner = 1;
  for (size_t d : order)
    if (first.shape[d] != 1) inner = first.shape[d];
  bool contiguous =
      std::ranges::any_of(order, [&](size_t d) { return first.shape[d] == inner && first.strides[d] == 1; });

  Shape walked;
  for (size_t d : order) walked.push_back(first.shape[d]);
  std::optional<Draft> best;
  constexpr int64_t much_shared = 3;
  if (auto crossing = crossing_of(request, first)) {
    if (writes.size() == 1 && crossing->dim == 1 && innermost(first) != 1)
      if (auto transposed = transposed_kernel(request, first, name, crossing->width, make))
        return *transposed;
    Draft made = draft(writes, name, make, crossing->width, across(first, *crossing));
    if (!made.kernel.vectorised.empty()) {
      auto by_channel = items_by_channel(request, first, decided / crossing->width);
      if (made.loads.shared < much_shared || !by_channel) return made.kernel;
      return draft(writes, name, make, crossing->width, across(share_of(first, *by_channel), *crossing), true,
                   *by_channel)
          .kernel;
    }
  }
  const ItemsPerThread items{request.context.takes_sizes() ? 1 : large_weights(request, first), {}};
  int64_t widest = contiguous && decided >= 1024 ? std::min<int64_t>(16 / largest, 8) : 1;
  widest = std::min(widest, request.context.widest_vector);
  while (count / items.count % widest != 0) widest /= 2;
  for (int64_t width = widest; width >= 1; width /= 2)
    for (size_t joined : joinable(walked, width)) {
      Draft next = draft(writes, name, make, width, along_result(first, width, joined), true, items);
      if (next.pays() && (!best || next.better_than(*best))) best = std::move(next);
    }
  if (int64_t width = best->kernel.width; width > 1 && best->loads.shared >= much_shared &&
                                          items.count == 1 && innermost(first) == 1 &&
                                          first.shape[1] % width == 0)
    if (auto by_channel = items_by_channel(request, first, decided / width)) {
      Draft next = draft(writes, name, make, width, along_result(share_of(first, *by_channel), width, 1),
                         true, *by_channel);
      if (next.loads.vectorised >= best->loads.vectorised) best = std::move(next);
    }
  const int64_t enough_threads = int64_t{64} * gpu.sms;
  if (std::optional<size_t> dim = shared_rows(request, first))
    if (int64_t width = first.shape[*dim]; decided / width >= enough_threads) {
      Draft next = draft(writes, name, make, width, along_others(first, *dim), false);
      if (next.loads.inlined * 2 <= best->loads.inlined) return next.kernel;
    }
  return best->kernel;
}

std::vector<Kernel> loop_kernels(const RegionRequest& request, const MakeEmitter& make,
                                 const std::function<bool(const Place&)>& done) {
  std::map<int64_t, std::vector<const Place*>, std::greater<>> by_count;
  for (const Place& place : request.writes)
    if (int64_t count = element_count(place.shape)) by_count[count].push_back(&place);
  std::vector<Kernel> kernels;
  for (auto& [count, writes] : by_count) {
    if (done) std::erase_if(writes, [&](const Place* write) { return done(*write); });
    if (writes.empty()) continue;
    std::string name = request.name;
    if (by_count.size() > 1) name += format("_of_{}", count);
    kernels.push_back(loop_kernel(request, writes, name, make));
  }
  return kernels;
}

Result<void> accepts_loop(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_CHECK(accepts_nesting(graph, region));
  for (int32_t n : region.nodes) {
    if (auto reduction = reduction_of(graph, n)) {
      if (reduction->length() > most_inlined)
        return work_error("technique", format("{}: a reduction over {} elements is too long for one thread",
                                              region.name, reduction->length()));
    } else if (!is_expression(graph, n)) {
      return work_error("technique", format("{}: {} is not computed element by element", region.name,
                                            info(graph.node(n).op).name));
    }
  }
  return {};
}

Result<RegionCode> write_loop(const RegionRequest& request) {
  STITCH_CHECK(accepts_loop(request.context, request.region));
  if (std::optional<RegionCode> pool = write_pool(request)) return *pool;
  auto make = [&] { return std::make_unique<LoopEmitter>(request); };
  std::string idea = format(
      "{}: each thread makes neighbouring elements of the results, and what is between is never stored. {} "
      "moved.",
      ops_text(request), traffic_text(request));
  return assemble(request, idea, loop_kernels(request, make), {});
}

}  // namespace stitch::code::loops
