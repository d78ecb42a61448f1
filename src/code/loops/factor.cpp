// A block copies its matrix into memory of its own, factorises it there and writes the results: correct for
// every size, at the speed of one block.
#include "code/loops/techniques.h"

#include <algorithm>

#include "base/format.h"
#include "code/loops/loop.h"

namespace stitch::code::loops {

namespace {

bool is_factor(Op op) {
  return op == Op::lu || op == Op::cholesky || op == Op::qr || op == Op::triangular_solve;
}

// A matrix in the block's memory, and where it is copied from or to.
struct Matrix {
  Type type;
  std::string name;
  int64_t rows, columns;

  int64_t elements() const { return rows * columns; }
};

class FactorWriter {
 public:
  explicit FactorWriter(const RegionRequest& request)
      : request_(request),
        node_(request.graph.node(request.region.nodes[0])),
        emitter_(request),
        index_(emitter_.index_type()) {
    const Shape& shape = request.graph.type(node_.operands[0]).shape;
    lead_.assign(shape.begin(), shape.end() - 2);
    rows_ = shape[shape.size() - 2];
    columns_ = shape.back();
    number_ = computed_type(request.graph.type(node_.operands[0]).dtype);
  }

  RegionCode write() {
    const int threads = 128;
    emitter_.add(define_constant(index_, "matrix", launch_index(index_, "blockIdx.x")));
    emitter_.add(define_constant(index_, "lane", launch_index(index_, "threadIdx.x")));
    Expressions arguments = fill_and_call();
    std::string function = format("stitch::{}_block<{}>", name_of_kernel(), number_.name);
    emitter_.add(evaluate(collective(function, arguments)));
    for (const Place& write : request_.writes) write_result(write);
    std::vector<Kernel> kernels;
    if (element_count(lead_) > 0 && rows_ * columns_ > 0) {
      kernels.push_back(kernel_of(emitter_, request_.name, threads, {element_count(lead_)}));
      for (const Scratch& scratch : workspace_.all()) {
        kernels.back().scratch.push_back(scratch.name);
        kernels.back().written.insert(scratch.name);
      }
    }
    std::string idea = format("{}: {} x {} by a block of threads, in memory of its own. {} moved.",
                              ops_text(request_), rows_, columns_, traffic_text(request_));
    return assemble(request_, idea, kernels, workspace_);
  }

 private:
  const char* name_of_kernel() const {
    switch (node_.op) {
      case Op::lu: return "lu";
      case Op::cholesky: return "cholesky";
      case Op::qr: return "qr";
      default: return "triangular";
    }
  }

  // This block's part of the shared workspace.
  Expression memory(const Type& type, const std::string& name, int64_t rows, int64_t columns) {
    workspace_.add(type, name + "_all", element_count(lead_) * rows * columns);
    matrices_.push_back({type, name, rows, columns});
    return named(name + "_all") + named("matrix") * (rows * columns);
  }

  Index open_elements(int64_t count) {
    emitter_.scopes().open({For{index_, "i", named("lane"), count, named("blockDim.x")}}, {"i"}, false);
    return Index::variable("i", count);
  }

  Indices place_in(const Shape& lead, const Index& i, int64_t columns) const {
    Indices at = unflatten(Index::variable("matrix", element_count(lead)), lead);
    at.push_back(i.divided_by(columns));
    at.push_back(i.modulo(columns));
    return at;
  }

  Expression filled(ValueId operand, const std::string& name, int64_t rows, int64_t columns) {
    Expression start = memory(number_, name, rows, columns);
    Index i = open_elements(rows * columns);
    Expression x = emitter_.value(operand, place_in(lead_, i, columns));
    emitter_.add(assign(element(named(name + "_all"), named("matrix") * (rows * columns) + named("i")), x));
    emitter_.close();
    return start;
  }

  Expressions fill_and_call() {
    auto size = [](int64_t n) { return static_cast_to(int_type, Expression(n)); };
    auto flag = [&](const char* name) { return number(node_.attributes.flag(name), DType::boolean); };
    if (node_.op == Op::triangular_solve) {
      const int64_t width = request_.graph.type(node_.operands[1]).shape.back();
      Expression a = filled(node_.operands[0], "a", rows_, rows_),
                 b = filled(node_.operands[1], "b", rows_, width);
      return {a, b, size(rows_), size(width), flag("upper"), flag("unit")};
    }
    Expression a = filled(node_.operands[0], "a", rows_, columns_);
    if (node_.op == Op::cholesky) return {a, size(rows_)};
    if (node_.op == Op::lu)
      return {a, memory(int64_type, "pivots", rows_, 1), memory(int64_type, "rows", rows_, 1), size(rows_)};
    return {a, memory(number_, "q", rows_, rows_), memory(number_, "v", rows_, 1), size(rows_),
            size(columns_)};
  }

  // The matrix that a result is a corner of.
  const Matrix& source_of(size_t result) const {
    const char* names[2][3] = {{"a", "pivots", "rows"}, {"q", "a", ""}};
    std::string name = node_.op == Op::triangular_solve ? "b" : names[node_.op == Op::qr][result];
    return *std::ranges::find(matrices_, name, &Matrix::name);
  }

  void write_result(const Place& write) {
    size_t result =
        static_cast<size_t>(std::ranges::find(node_.results, write.value) - node_.results.begin());
    const Matrix& from = source_of(result);
    const bool vector = node_.op == Op::lu && result > 0;
    const Shape& shape = request_.graph.type(write.value).shape;
    const int64_t columns = vector ? 1 : shape.back(), rows = vector ? shape.back() : shape[shape.size() - 2];
    Index i = open_elements(rows * columns);
    Indices at = place_in(lead_, i, columns);
    if (vector) at.pop_back();
    Expression place = columns == from.columns
                           ? named("i")
                           : Expression(i.divided_by(columns) * from.columns + i.modulo(columns));
    emitter_.store(write, at, element(named(from.name + "_all"), named("matrix") * from.elements() + place));
    emitter_.close();
  }

  const RegionRequest& request_;
  const Node& node_;
  LoopEmitter emitter_;
  const Type index_;
  Type number_;
  Shape lead_;
  int64_t rows_ = 0, columns_ = 0;
  Workspace workspace_;
  std::vector<Matrix> matrices_;
};

}  // namespace

Result<void> accepts_factor(const plan::Context& context, const plan::Region& region) {
  return accepts_alone(context, region, is_factor, "a matrix taken apart");
}

Result<RegionCode> write_factor(const RegionRequest& request) {
  STITCH_CHECK(accepts_factor(request.context, request.region));
  return FactorWriter(request).write();
}

}  // namespace stitch::code::loops
