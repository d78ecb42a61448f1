
#include <cmath>

#include "base/format.h"
#include "code/loops/loop.h"
#include "code/loops/reduction.h"
#include "code/loops/row_plan.h"

namespace stitch::code::loops {

namespace {

constexpr int threads = 256, lanes = 32, held = 8;  // elements per lane
constexpr int64_t strip = held * lanes;

class StripWriter {
 public:
  StripWriter(const RegionRequest& request, const Pool& pool)
      : request_(request),
        node_(request.graph.node(pool.node)),
        pool_(pool),
        emitter_(request),
        dtype_(request.graph.type(node_.operands[0]).dtype) {
    const int64_t most = strip - pool.x.reach() + 1;
    strips_ = divided_up(pool.x.out, most);
    results_ = divided_up(pool.x.out, strips_);
  }

  Kernel write() {
    const Shape& out = request_.graph.type(node_.results[0]).shape;
    const int64_t rows = out[0] * out[1], count = rows * strips_;
    const Type type = emitter_.index_type();
    emitter_.add(define_constant(int_type, "lane", launch_index(int_type, "threadIdx.x") % lanes));
    emitter_.scopes().introduce("lane");
    emitter_.add(define_constant(
        type, "tile",
        launch_index(type, "blockIdx.x") * (threads / lanes) + launch_index(type, "threadIdx.x") / lanes));
    emitter_.scopes().introduce("tile");
    if (count % (threads / lanes) != 0) {
      Statement past = only_if(named("tile") >= count, {Return{}});
      past.comment = "the whole warp";
      emitter_.add(std::move(past));
    }
    Indices at = unflatten(Index::variable("tile", count), {rows, strips_});
    row_ = unflatten(at[0], {out[0], out[1]});
    first_ = at[1] * results_;
    load();
    emitter_.add(
        evaluate(collective(format("stitch::take_windows<{}, {}>", pool_.x.taps, pool_.x.dilation),
                            {named("held"), call(pool_.largest ? "stitch::Maximum" : "stitch::Add", {})})));
    store();
    return kernel_of(emitter_, request_.name, threads, {divided_up(count, threads / lanes)});
  }
  int64_t results() const { return results_; }

 private:
  void open_items() { emitter_.scopes().open({For{int_type, "i", 0, held, 1, For::whole}}, {"i"}, true); }

  void load() {
    emitter_.add(define_variable(computed_type(dtype_), "held", {}, {held}));
    open_items();
    Index x = emitter_.declare_index("x", sum_of(first_ - pool_.x.padding, i_ * lanes) + lane_,
                                     std::max<int64_t>(pool_.x.in, 2));
    emitter_.add(assign(own_, number(pool_.largest ? -INFINITY : 0, dtype_)));
    emitter_.guard(both(x >= 0, x < pool_.x.in));
    Expression value = emitter_.value(node_.operands[0], {row_[0], row_[1], x});
    emitter_.add(assign(own_, value));
    emitter_.close();
    emitter_.close();
  }

  void store() {
    open_items();
    Index x = emitter_.declare_index("x", sum_of(first_, i_ * lanes) + lane_, pool_.x.out);
    Expression inside = i_ * lanes + lane_ < results_;
    if (strips_ * results_ != pool_.x.out) inside = both(inside, x < pool_.x.out);
    emitter_.guard(inside);
    emitter_.add(define_constant(computed_type(dtype_), "all",
                                 pool_.largest ? own_ : own_ * number(pool_.share, dtype_)));
    const Shape& shape = request_.graph.type(node_.results[0]).shape;
    Indices at = {row_[0], row_[1], x};
    emitter_.scopes().remember(key_of(node_.results[0], at), named("all"));
    for (const Place& write : request_.writes) {
      Indices there = write.shape == shape ? at : unflatten(flatten(at, shape), write.shape);
      emitter_.store(write, there, emitter_.value(write.value, there));
    }
    emitter_.close();
    emitter_.close();
  }

  const RegionRequest& request_;
  const Node& node_;
  const Pool& pool_;
  LoopEmitter emitter_;
  DType dtype_;
  const Expression i_ = named("i"), lane_ = named("lane"), own_ = element("held", i_);
  int64_t strips_ = 1, results_ = 1;  // per row, and per strip
  Indices row_;
  Index first_;
};

}  // namespace

std::optional<RegionCode> write_pool_strips(const RegionRequest& request, const Pool& pool) {
  // Strips that overlap by half would be read twice; short rows leave lanes idle.
  if (pool.dims != 1 || pool.x.stride != 1 || pool.x.reach() > strip / 2 || pool.x.out < strip / 2)
    return std::nullopt;
  StripWriter writer(request, pool);
  Kernel kernel = writer.write();
  std::string idea = format(
      "{}: a warp holds {} neighbours of a row, {} a lane, and makes {} results by shifting them from lane "
      "to lane. {} moved.",
      ops_text(request), strip, held, writer.results(), traffic_text(request));
  return assemble(request, idea, {std::move(kernel)}, {});
}

}  // namespace stitch::code::loops
