#include "code/loops/pool.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "code/loops/families.h"
#include "code/loops/loop.h"
#include "code/loops/pool_shape.h"
#include "code/loops/pool_strip.h"
#include "code/loops/row_plan.h"

namespace stitch::code::loops {

namespace {

// How a block's threads share its work.
struct Tile {
  int64_t columns, rows;  // of results
  int64_t width, depth;   // of the input below them
  int64_t columns_tiles, rows_tiles;
  int threads;
};

std::optional<Tile> tile_of(const Pool& pool) {
  Tile tile{};
  // As many rows as overlap, as long as a thread can have their elements on the way at once.
  tile.rows = 1;
  while (pool.y.stride < pool.y.reach() && tile.rows < std::min<int64_t>(8, pool.y.out) &&
         pool.y.span(tile.rows + 1) <= 20)
    ++tile.rows;
  tile.depth = pool.y.span(tile.rows);
  if (tile.depth > 32 || pool.x.taps > 32) return std::nullopt;
  tile.rows_tiles = divided_up(pool.y.out, tile.rows);
  // A thread takes a column, or four of a single row.
  int64_t each = tile.depth == 1 ? 4 : 1, least = INT64_MAX;
  for (int threads = each > 1 ? 256 : 64; threads <= (each > 1 ? 256 : 640); threads += 32) {
    int64_t room = each * threads - pool.x.reach();
    if (room < 0) continue;
    int64_t tiles = divided_up(pool.x.out, room / pool.x.stride + 1);
    if (int64_t cost = tiles * (threads + 32); cost < least) {
      least = cost;
      tile.threads = threads;
      tile.columns_tiles = tiles;
      tile.columns = divided_up(pool.x.out, tiles);
    }
  }
  if (least == INT64_MAX) return std::nullopt;
  tile.width = pool.x.span(tile.columns);
  return tile;
}

class PoolWriter {
 public:
  PoolWriter(const RegionRequest& request, const Pool& pool, const Tile& tile)
      : request_(request),
        node_(request.graph.nodes[static_cast<size_t>(pool.node)]),
        pool_(pool),
        tile_(tile),
        emitter_(request),
        dtype_(request.graph.type(node_.operands[0]).dtype),
        type_(computed_type(dtype_)),
        identity_(literal(pool.largest ? -INFINITY : 0, dtype_)) {}

  Kernel write() {
    const Shape& out = request_.graph.type(node_.results[0]).shape;
    Shape planes(out.begin(), out.begin() + 2);
    if (pool_.dims == 3) planes.push_back(out[2]);
    int64_t blocks = element_count(planes) * tile_.rows_tiles * tile_.columns_tiles;
    const char* type = emitter_.index_type();
    emitter_.line(format("const {0} tile = static_cast<{0}>(blockIdx.x);", type));
    emitter_.scopes().introduce("tile");
    Index tile = Index::variable("tile", blocks);
    Indices at = unflatten(tile, {element_count(planes), tile_.rows_tiles, tile_.columns_tiles});
    plane_ = unflatten(at[0], planes);
    first_row_ = at[1] * tile_.rows;
    first_column_ = at[2] * tile_.columns;
    emitter_.line(format("__shared__ {} columns[{}];", type_, tile_.rows * tile_.width));
    down();
    emitter_.line("__syncthreads();");
    across();
    Kernel kernel;
    kernel.name = request_.name;
    kernel.threads = tile_.threads;
    kernel.blocks = std::to_string(blocks);
    kernel.body = emitter_.scopes().take(2);
    kernel.used = emitter_.used();
    return kernel;
  }

 private:
  std::string joined(const std::string& into, const std::string& x) const {
    return pool_.largest ? format("{0} = stitch::maximum({0}, {1});", into, x) : format("{} += {};", into, x);
  }
  void open(std::string_view header) { emitter_.scopes().open(std::string(header), {}, true); }

  // Each thread goes down a column of the input, for all rows of results.
  void down() {
    bool flat = pool_.dims == 1;
    emitter_.scopes().open(
        format("#pragma unroll\nfor (int i = static_cast<int>(threadIdx.x); i < {}; i += {})", tile_.width,
               tile_.threads),
        {"i"}, true);
    emitter_.line(format("{} found[{}];", type_, tile_.rows));
    emitter_.line("#pragma unroll");
    emitter_.line(format("for (int r = 0; r < {}; ++r) found[r] = {};", tile_.rows, identity_));
    Index begin = first_column_ * pool_.x.stride - pool_.x.padding;
    Index x = emitter_.declare_index("x", sum_text(begin, "i"), std::max<int64_t>(pool_.x.in, 2));
    open(format("if ({0} >= 0 && {0} < {1})", x.text(), pool_.x.in));
    Indices from = {plane_[0], plane_[1]};
    if (pool_.dims == 3) {
      emitter_.scopes().open(format("for (int kz = 0; kz < {}; ++kz)", pool_.z.taps), {"kz"}, true);
      Index z_begin = plane_[2] * pool_.z.stride - pool_.z.padding;
      Index z = emitter_.declare_index(
          "z", sum_text(z_begin, pool_.z.dilation > 1 ? format("kz * {}", pool_.z.dilation) : "kz"),
          std::max<int64_t>(pool_.z.in, 2));
      open(format("if ({0} >= 0 && {0} < {1})", z.text(), pool_.z.in));
      from.push_back(z);
    }
    if (flat) {
      from.push_back(x);
      emitter_.line(joined("found[0]", emitter_.value(node_.operands[0], from)));
    } else {
      emitter_.scopes().open(format("#pragma unroll\nfor (int k = 0; k < {}; ++k)", tile_.depth), {"k"},
                             true);
      Index y_begin = first_row_ * pool_.y.stride - pool_.y.padding;
      Index y = emitter_.declare_index("y", sum_text(y_begin, "k"), std::max<int64_t>(pool_.y.in, 2));
      from.push_back(y);
      from.push_back(x);
      emitter_.line(format("{} here = {};", type_, identity_));
      open(format("if ({0} >= 0 && {0} < {1})", y.text(), pool_.y.in));
      emitter_.line(format("here = {};", emitter_.value(node_.operands[0], from)));
      emitter_.close();
      // Which rows look at this element is known when the loops are unrolled.
      emitter_.line("#pragma unroll");
      emitter_.line(format("for (int r = 0; r < {}; ++r) {{", tile_.rows));
      std::string past = "k";
      if (tile_.rows > 1) past = pool_.y.stride > 1 ? format("k - r * {}", pool_.y.stride) : "k - r";
      std::string looks = format("{} >= 0 && {} <= {}", past, past, pool_.y.reach() - 1);
      if (pool_.y.dilation > 1) looks += format(" && ({}) % {} == 0", past, pool_.y.dilation);
      emitter_.line(format("  if ({}) {}", looks, joined("found[r]", "here")));
      emitter_.line("}");
      emitter_.close();
    }
    if (pool_.dims == 3) {
      emitter_.close();
      emitter_.close();
    }
    emitter_.close();
    emitter_.line("#pragma unroll");
    emitter_.line(
        format("for (int r = 0; r < {}; ++r) columns[r * {} + i] = found[r];", tile_.rows, tile_.width));
    emitter_.close();
  }

  // Then each result is made from neighbouring columns.
  void across() {
    emitter_.scopes().open(format("for (int i = static_cast<int>(threadIdx.x); i < {}; i += {})",
                                  tile_.rows * tile_.columns, tile_.threads),
                           {"i"}, true);
    std::string r = tile_.rows > 1 ? format("i / {}", tile_.columns) : "0";
    std::string c = tile_.rows > 1 ? format("i % {}", tile_.columns) : "i";
    emitter_.line(format("const int r = {}, c = {};", r, c));
    Index y = emitter_.declare_index("y", sum_text(first_row_, "r"), pool_.y.out);
    Index x = emitter_.declare_index("x", sum_text(first_column_, "c"), pool_.x.out);
    std::string inside;
    if (tile_.columns_tiles * tile_.columns != pool_.x.out) inside = format("{} < {}", x.text(), pool_.x.out);
    if (tile_.rows_tiles * tile_.rows != pool_.y.out)
      inside += format("{}{} < {}", inside.empty() ? "" : " && ", y.text(), pool_.y.out);
    if (!inside.empty()) open("if (" + inside + ")");
    emitter_.line(format("{} all = {};", type_, identity_));
    emitter_.line("#pragma unroll");
    std::string tap = pool_.x.dilation > 1 ? format("k * {}", pool_.x.dilation) : "k";
    std::string place = pool_.x.stride > 1 ? format("c * {}", pool_.x.stride) : "c";
    emitter_.line(format("for (int k = 0; k < {}; ++k) {}", pool_.x.taps,
                         joined("all", format("columns[r * {} + {} + {}]", tile_.width, place, tap))));
    if (!pool_.largest) emitter_.line(format("all *= {};", literal(pool_.share, dtype_)));
    Indices at = plane_;
    if (pool_.dims > 1) at.push_back(y);
    at.push_back(x);
    const Shape& shape = request_.graph.type(node_.results[0]).shape;
    emitter_.scopes().remember(key_of(node_.results[0], at), "all");
    for (const Place& write : request_.writes) {
      Indices there = write.shape == shape ? at : unflatten(flatten(at, shape), write.shape);
      emitter_.store(write, there, emitter_.value(write.value, there));
    }
    if (!inside.empty()) emitter_.close();
    emitter_.close();
  }

  const RegionRequest& request_;
  const Node& node_;
  const Pool& pool_;
  const Tile& tile_;
  LoopEmitter emitter_;
  DType dtype_;
  std::string type_, identity_;
  Indices plane_;
  Index first_row_, first_column_;
};

}  // namespace

std::optional<RegionCode> write_pool(const RegionRequest& request) {
  const Graph& graph = request.graph;
  std::optional<Pool> pool;
  for (int32_t n : request.region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (info(node.op).family != stitch::Family::pool) {
      // What stands after the pool must look at one of its elements only.
      if (!is_expression(graph, n) || node.op == Op::resize) return std::nullopt;
      continue;
    }
    if (pool) return std::nullopt;
    pool = pool_of(graph, n);
    if (!pool) return std::nullopt;
  }
  if (!pool || pool->x.taps * pool->y.taps * pool->z.taps < 6) return std::nullopt;
  // Small windows that share nothing: a block would be over after a few loads. 2 x 2 x 2 of 1 GB took 575 us
  // on an H200 that way, and a thread a result reads 4 x 4 x 4 of as much in 229.
  auto apart = [](const Axis& axis) { return axis.stride >= axis.reach(); };
  if (apart(pool->x) && apart(pool->y) && apart(pool->z) && pool->x.taps <= 4) return std::nullopt;
  const Node& node = graph.nodes[static_cast<size_t>(pool->node)];
  const TensorType& result = graph.type(node.results[0]);
  if (result.elements() == 0) return std::nullopt;
  for (const Place& write : request.writes)
    if (element_count(write.shape) != result.elements()) return std::nullopt;
  // Lanes lie along the innermost dimension: in other orders, each result's own thread does better.
  if (storage_strides(request, node.operands[0]).back() != 1) return std::nullopt;
  // Everything after the pool is pointwise, so that each of its results is asked for in its own place.
  std::set<ValueId> after = {node.results[0]};
  for (int32_t n : request.region.nodes) {
    const Node& user = graph.nodes[static_cast<size_t>(n)];
    if (std::ranges::none_of(user.operands, [&](ValueId id) { return after.contains(id); })) continue;
    bool in_place = info(user.op).family == stitch::Family::pointwise &&
                    graph.type(user.results[0]).shape == result.shape;
    if (!in_place) return std::nullopt;
    for (ValueId id : user.operands)
      if (after.contains(id) && graph.type(id).shape != result.shape) return std::nullopt;
    after.insert(user.results.begin(), user.results.end());
  }
  if (std::optional<RegionCode> strips = write_pool_strips(request, *pool)) return strips;
  std::optional<Tile> tile = tile_of(*pool);
  if (!tile || tile->rows * tile->width * size_of(result.dtype) > 40 * 1024) return std::nullopt;
  Kernel kernel = PoolWriter(request, *pool, *tile).write();
  std::string idea = format(
      "{}: a block makes {} x {} results; its threads go down columns of the input, which is read once, then "
      "across what they found, in shared memory. {} moved.",
      ops_text(request), tile->rows, tile->columns, traffic_text(request));
  return assemble(request, idea, {std::move(kernel)}, {});
}

}  // namespace stitch::code::loops
