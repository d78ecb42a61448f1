#include "code/loops/pool_strip.h"

#include <cmath>

#include "base/format.h"
#include "code/loops/families.h"
#include "code/loops/loop.h"
#include "code/loops/row_plan.h"

namespace stitch::code::loops {

namespace {

constexpr int threads = 256, lanes = 32, held = 8;  // elements of a lane
constexpr int64_t strip = held * lanes;

class StripWriter {
 public:
  StripWriter(const RegionRequest& request, const Pool& pool)
      : request_(request),
        node_(request.graph.nodes[static_cast<size_t>(pool.node)]),
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
    const char* type = emitter_.index_type();
    emitter_.line("const int lane = static_cast<int>(threadIdx.x) % 32;");
    emitter_.scopes().introduce("lane");
    emitter_.line(
        format("const {0} tile = static_cast<{0}>(blockIdx.x) * {1} + static_cast<{0}>(threadIdx.x) "
               "/ 32;",
               type, threads / lanes));
    emitter_.scopes().introduce("tile");
    if (count % (threads / lanes) != 0)
      emitter_.line(format("if (tile >= {}) return;  // the whole warp", count));
    Indices at = unflatten(Index::variable("tile", count), {rows, strips_});
    row_ = unflatten(at[0], {out[0], out[1]});
    first_ = at[1] * results_;
    load();
    emitter_.line(format("stitch::take_windows<{}, {}>(held, stitch::{}());", pool_.x.taps, pool_.x.dilation,
                         pool_.largest ? "Maximum" : "Add"));
    store();
    Kernel kernel;
    kernel.name = request_.name;
    kernel.threads = threads;
    kernel.blocks = std::to_string(divided_up(count, threads / lanes));
    kernel.body = emitter_.scopes().take(2);
    kernel.used = emitter_.used();
    return kernel;
  }
  int64_t results() const { return results_; }

 private:
  void open_turns() {
    emitter_.scopes().open(format("#pragma unroll\nfor (int i = 0; i < {}; ++i)", held), {"i"}, true);
  }

  void load() {
    emitter_.line(format("{} held[{}];", computed_type(dtype_), held));
    open_turns();
    Index begin = first_ - pool_.x.padding;
    Index x = emitter_.declare_index("x", sum_text(begin, "i * 32 + lane"), std::max<int64_t>(pool_.x.in, 2));
    emitter_.line(format("held[i] = {};", literal(pool_.largest ? -INFINITY : 0, dtype_)));
    emitter_.scopes().open(format("if ({0} >= 0 && {0} < {1})", x.text(), pool_.x.in), {}, true);
    emitter_.line(format("held[i] = {};", emitter_.value(node_.operands[0], {row_[0], row_[1], x})));
    emitter_.close();
    emitter_.close();
  }

  void store() {
    open_turns();
    Index x = emitter_.declare_index("x", sum_text(first_, "i * 32 + lane"), pool_.x.out);
    std::string inside = format("i * 32 + lane < {}", results_);
    if (strips_ * results_ != pool_.x.out) inside += format(" && {} < {}", x.text(), pool_.x.out);
    emitter_.scopes().open(format("if ({})", inside), {}, true);
    std::string share = pool_.largest ? "" : format(" * {}", literal(pool_.share, dtype_));
    emitter_.line(format("const {} all = held[i]{};", computed_type(dtype_), share));
    const Shape& shape = request_.graph.type(node_.results[0]).shape;
    Indices at = {row_[0], row_[1], x};
    emitter_.scopes().remember(key_of(node_.results[0], at), "all");
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
  int64_t strips_ = 1, results_ = 1;  // of a row, and of a strip
  Indices row_;
  Index first_;
};

}  // namespace

std::optional<RegionCode> write_pool_strips(const RegionRequest& request, const Pool& pool) {
  // Strips that overlap by half would be read twice; short rows leave lanes without work.
  if (pool.dims != 1 || pool.x.stride != 1 || pool.x.reach() > strip / 2 || pool.x.out < strip / 2)
    return std::nullopt;
  StripWriter writer(request, pool);
  Kernel kernel = writer.write();
  std::string idea = format(
      "{}: a warp holds {} neighbours of a row, {} a lane, and makes {} results by shifting them from lane "
      "to "
      "lane. {} moved.",
      ops_text(request), strip, held, writer.results(), traffic_text(request));
  RegionCode code = assemble(request, idea, {std::move(kernel)}, {});
  code.includes += "#include \"stitch/kernels/loops_window.h\"\n";
  return code;
}

}  // namespace stitch::code::loops
