
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "code/loops/loop.h"
#include "code/loops/reduction.h"
#include "code/loops/row_plan.h"

namespace stitch::code::loops {

namespace {

// How a block's threads divide the tile.
struct Tile {
  int64_t columns, rows;  // of results
  int64_t width, depth;   // of the input under them
  int64_t columns_tiles, rows_tiles;
  int threads;
};

std::optional<Tile> tile_of(const Pool& pool) {
  Tile tile{};
  // As many rows as overlap and a thread can keep in flight.
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
        node_(request.graph.node(pool.node)),
        pool_(pool),
        tile_(tile),
        emitter_(request),
        dtype_(request.graph.type(node_.operands[0]).dtype),
        type_(computed_type(dtype_)),
        identity_(number(pool.largest ? -INFINITY : 0, dtype_)) {}

  Kernel write() {
    const Shape& out = request_.graph.type(node_.results[0]).shape;
    Shape images(out.begin(), out.begin() + 2);
    if (pool_.dims == 3) images.push_back(out[2]);
    int64_t blocks = element_count(images) * tile_.rows_tiles * tile_.columns_tiles;
    const Type type = emitter_.index_type();
    emitter_.add(define_constant(type, "tile", launch_index(type, "blockIdx.x")));
    emitter_.scopes().introduce("tile");
    Index tile = Index::variable("tile", blocks);
    Indices at = unflatten(tile, {element_count(images), tile_.rows_tiles, tile_.columns_tiles});
    image_ = unflatten(at[0], images);
    first_row_ = at[1] * tile_.rows;
    first_column_ = at[2] * tile_.columns;
    emitter_.add(define_shared(type_, "columns", {tile_.rows * tile_.width}));
    down();
    emitter_.add({Barrier{}});
    across();
    return kernel_of(emitter_, request_.name, tile_.threads, {blocks});
  }

 private:
  Statement joined(const Expression& into, const Expression& x) const {
    return pool_.largest ? assign(into, call("stitch::maximum", {into, x})) : assign(into, x, Operator::add);
  }
  static Expression within(const Index& index, int64_t size) { return both(index >= 0, index < size); }
  // An index of the input: also of extent 1, since it may be in the padding.
  Index declare_input(const char* name, const Expression& value, int64_t size) {
    return emitter_.declare_index(name, value, std::max<int64_t>(size, 2));
  }
  // A loop out of which nothing is moved.
  void open(For loop) {
    std::string variable = loop.variable;
    emitter_.scopes().open({std::move(loop)}, {variable}, true);
  }
  // For each row r of the tile's results.
  void each_row(Statement body, bool braces) {
    emitter_.add({For{int_type, "r", 0, tile_.rows, 1, For::whole, {std::move(body)}, braces}});
  }

  // Each thread walks down a column of the input, for all rows of results.
  void down() {
    open({int_type, "i", launch_index(int_type, "threadIdx.x"), tile_.width, tile_.threads, For::whole});
    emitter_.add(define_variable(type_, "found", {}, {tile_.rows}));
    each_row(assign(element("found", r_), identity_), false);
    Index x = declare_input("x", sum_of(first_column_ * pool_.x.stride - pool_.x.padding, i_), pool_.x.in);
    emitter_.guard(within(x, pool_.x.in));
    Indices from = {image_[0], image_[1]};
    if (pool_.dims == 3) {
      open({int_type, "kz", 0, pool_.z.taps});
      const Expression kz = named("kz");
      Index z = declare_input("z",
                              sum_of(image_[2] * pool_.z.stride - pool_.z.padding,
                                     pool_.z.dilation > 1 ? kz * pool_.z.dilation : kz),
                              pool_.z.in);
      emitter_.guard(within(z, pool_.z.in));
      from.push_back(z);
    }
    if (pool_.dims == 1) {
      from.push_back(x);
      Expression value = emitter_.value(node_.operands[0], from);
      emitter_.add(joined(element("found", 0), value));
    } else {
      down_taps(from, x);
    }
    if (pool_.dims == 3) {
      emitter_.close();
      emitter_.close();
    }
    emitter_.close();
    each_row(assign(element("columns", r_ * tile_.width + i_), element("found", r_)), false);
    emitter_.close();
  }

  void down_taps(Indices from, const Index& x) {
    const Expression k = named("k"), here = named("here");
    open({int_type, "k", 0, tile_.depth, 1, For::whole});
    Index y = declare_input("y", sum_of(first_row_ * pool_.y.stride - pool_.y.padding, k), pool_.y.in);
    from.push_back(y);
    from.push_back(x);
    emitter_.add(define_variable(type_, "here", identity_));
    emitter_.guard(within(y, pool_.y.in));
    Expression value = emitter_.value(node_.operands[0], from);
    emitter_.add(assign(here, value));
    emitter_.close();
    // Which rows use this element is known once loops are unrolled.
    Expression past = k;
    if (tile_.rows > 1) past = k - (pool_.y.stride > 1 ? r_ * pool_.y.stride : r_);
    Expression looks = both(past >= 0, past <= pool_.y.reach() - 1);
    if (pool_.y.dilation > 1) looks = both(looks, past % pool_.y.dilation == 0);
    each_row(only_if(looks, joined(element("found", r_), here)), true);
    emitter_.close();
  }

  // Then each result is computed from adjacent columns.
  void across() {
    const Expression c = named("c"), k = named("k"), all = named("all");
    open({int_type, "i", launch_index(int_type, "threadIdx.x"), tile_.rows * tile_.columns, tile_.threads});
    emitter_.add(define_constant(int_type, "r", tile_.rows > 1 ? i_ / tile_.columns : 0));
    emitter_.add(define_constant(int_type, "c", tile_.rows > 1 ? i_ % tile_.columns : i_));
    Index y = emitter_.declare_index("y", sum_of(first_row_, r_), pool_.y.out);
    Index x = emitter_.declare_index("x", sum_of(first_column_, c), pool_.x.out);
    Expression inside;
    if (tile_.columns_tiles * tile_.columns != pool_.x.out) inside = x < pool_.x.out;
    if (tile_.rows_tiles * tile_.rows != pool_.y.out) inside = both(inside, y < pool_.y.out);
    if (!inside.empty()) emitter_.guard(inside);
    emitter_.add(define_variable(type_, "all", identity_));
    const Expression place = r_ * tile_.width + (pool_.x.stride > 1 ? c * pool_.x.stride : c) +
                             (pool_.x.dilation > 1 ? k * pool_.x.dilation : k);
    emitter_.add({For{
        int_type, "k", 0, pool_.x.taps, 1, For::whole, {joined(all, element("columns", place))}, false}});
    if (!pool_.largest) emitter_.add(assign(all, number(pool_.share, dtype_), Operator::multiply));
    Indices at = image_;
    if (pool_.dims > 1) at.push_back(y);
    at.push_back(x);
    const Shape& shape = request_.graph.type(node_.results[0]).shape;
    emitter_.scopes().remember(key_of(node_.results[0], at), all);
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
  Type type_;
  Expression identity_;
  const Expression i_ = named("i"), r_ = named("r");
  Indices image_;
  Index first_row_, first_column_;
};

}  // namespace

std::optional<RegionCode> write_pool(const RegionRequest& request) {
  const Graph& graph = request.graph;
  std::optional<Pool> pool;
  for (int32_t n : request.region.nodes) {
    const Node& node = graph.node(n);
    if (info(node.op).family != stitch::Family::pool) {
      // Nodes after the pool must read a single element of it.
      if (!is_expression(graph, n) || node.op == Op::resize) return std::nullopt;
      continue;
    }
    if (pool) return std::nullopt;
    pool = pool_of(graph, n);
    if (!pool) return std::nullopt;
  }
  if (!pool || pool->x.taps * pool->y.taps * pool->z.taps < 6) return std::nullopt;
  // Small windows without overlap: a block would finish after a few loads. 2 x 2 x 2 of 1 GB took 575 us on
  // an H200 that way; one thread per result reads 4 x 4 x 4 of as much in 229.
  auto apart = [](const Axis& axis) { return axis.stride >= axis.reach(); };
  if (apart(pool->x) && apart(pool->y) && apart(pool->z) && pool->x.taps <= 4) return std::nullopt;
  // No tiles where the image's sizes change from call to call: each result reads its own window.
  auto image_at = [&](const Graph& at) {
    const Shape& shape = at.type(at.node(pool->node).operands[0]).shape;
    return Shape(shape.begin() + 2, shape.end());
  };
  if (request.context.varies(image_at)) return std::nullopt;
  const Node& node = graph.node(pool->node);
  const TensorType& result = graph.type(node.results[0]);
  if (result.elements() == 0) return std::nullopt;
  for (const Place& write : request.writes)
    if (element_count(write.shape) != result.elements()) return std::nullopt;
  // Lanes are along the contiguous dimension: in other layouts one thread per result is better.
  if (storage_strides(request, node.operands[0]).back() != 1) return std::nullopt;
  // Everything after the pool is pointwise, so each result is used at its own position.
  std::set<ValueId> after = {node.results[0]};
  for (int32_t n : request.region.nodes) {
    const Node& user = graph.node(n);
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

std::optional<Pool> pool_of(const Graph& graph, int32_t number) {
  const Node& node = graph.node(number);
  if ((node.op != Op::max_pool && node.op != Op::avg_pool) || node.results.size() > 1) return std::nullopt;
  const TensorType& type = graph.type(node.operands[0]);
  if (!is_floating(type.dtype)) return std::nullopt;
  Pool pool{number, node.op == Op::max_pool};
  pool.dims = type.shape.size() - 2;
  if (pool.dims < 1 || pool.dims > 3) return std::nullopt;
  const Attributes& attributes = node.attributes;
  const Shape& out = graph.type(node.results[0]).shape;
  Axis* axes[] = {&pool.z, &pool.y, &pool.x};
  int64_t count = 1;
  bool whole = true;  // every window has as many elements, padding included
  for (size_t d = 0; d < pool.dims; ++d) {
    Axis& axis = *axes[3 - pool.dims + d];
    axis = {type.shape[d + 2],
            out[d + 2],
            attributes.integers("kernel")[d],
            attributes.integers("stride")[d],
            attributes.integers("padding")[d],
            pool.largest ? attributes.integers("dilation")[d] : 1};
    count *= axis.taps;
    whole &= axis.padding == 0 || pool.largest || attributes.flag("count_padding");
    whole &= (axis.out - 1) * axis.stride + axis.reach() <= axis.in + 2 * axis.padding;
  }
  if (!pool.largest) {
    int64_t divisor = attributes.integer("divisor");
    if (!divisor && !whole) return std::nullopt;
    pool.share = 1.0 / static_cast<double>(divisor ? divisor : count);
  }
  return pool;
}

}  // namespace stitch::code::loops
