// Floats in tiles on tensor cores (kernels/matmul_grouped.h), FP32 at its own accuracy; other types, and what
// exceeds a grid, by one thread per element.
#include "code/loops/techniques.h"

#include <algorithm>

#include "base/format.h"
#include "code/loops/loop.h"
#include "code/names.h"
#include "code/products/epilogue.h"
#include "code/products/signature.h"

namespace stitch::code::loops {

namespace {

const Node& node_of(const plan::Context& context, const plan::Region& region) {
  return context.graph.node(region.nodes[0]);
}

// The sum over the depth for one element of a grouped product.
class GroupedEmitter final : public LoopEmitter {
 public:
  using LoopEmitter::LoopEmitter;

  Expression foreign(const Node& node, const Indices& at) override {
    const ValueId out = node.results[0];
    const Shape& weight = graph().type(node.operands[1]).shape;
    const Expression group = named(names().unique("group"));
    add(define_variable(int_type, group->name, 0));
    Index g = open_loop("g", 0, weight[0], 1, weight[0]);
    guard(value(node.operands[2], {g}) <= Expression(at[0]));
    add(assign(group, Expression(g) + 1));
    close();
    close();
    const Expression sum = variable(out, number(0, graph().type(out).dtype));
    guard(group < weight[0]);
    Index own = declare_index("own", group, weight[0]);
    Index k = open_loop("depth", 0, weight[1], 1, weight[1]);
    Expression x = value(node.operands[0], {at[0], k}), w = value(node.operands[1], {own, k, at[1]});
    add(assign(sum, x * w, Operator::add));
    close();
    close();
    return sum;
  }
};

bool lies_in_rows(const Place& place) { return place.strides == contiguous_strides(place.shape); }

// Whether layouts and types suit tensor cores.
bool lies_for_tiles(const RegionRequest& request, const Node& node) {
  const Place *x = request.find(node.operands[0]), *weight = request.find(node.operands[1]),
              *ends = request.find(node.operands[2]), *out = request.find(node.results[0]);
  if (!x || !weight || !ends || !out) return false;
  return std::ranges::all_of(std::vector{x, weight, ends, out},
                             [](const Place* place) { return lies_in_rows(*place); }) &&
         x->dtype == weight->dtype && x->dtype == out->dtype;
}

RegionCode write_tiles(const RegionRequest& request, const Node& node) {
  const Place &x = *request.find(node.operands[0]), &weight = *request.find(node.operands[1]),
              &ends = *request.find(node.operands[2]), &out = *request.find(node.results[0]);
  RegionCode code;
  code.includes = "#include \"stitch/kernels/matmul_grouped.h\"\n";
  Signature signature("enqueue_" + request.name);
  for (const Place* place : {&x, &weight, &ends}) signature.read(*place);
  signature.write(out);
  const std::string groups = type_name(request.name, "Groups");
  code.declaration = signature.declaration();
  code.source = format(
      "// {}: tiles of each group's rows on tensor cores{}; kernels/matmul_grouped.h has the kernel.\n"
      "struct {} {{\n  static constexpr int64_t rows = {}, columns = {}, depth = {};\n"
      "  static constexpr int groups = {};\n}};\n\n"
      "{} {{\n  return stitch::enqueue_grouped_product<{}>(\"{}\", {}, {}, {}, {}, stream);\n}}\n",
      ops_text(request), x.dtype == DType::f32 ? ", FP32 in three products of TF32 parts" : "", groups,
      x.shape[0], weight.shape[2], x.shape[1], weight.shape[0], signature.head(), groups, request.name,
      x.pointer, weight.pointer, ends.pointer, out.pointer);
  code.arguments = signature.arguments();
  for (const Place* place : {&x, &weight, &ends, &out})
    code.moved_bytes += static_cast<double>(element_count(place->shape) * size_of(place->dtype));
  code.kernels = 1;
  return code;
}

}  // namespace

Result<void> accepts_grouped(const plan::Context& context, const plan::Region& region) {
  return accepts_alone(
      context, region, [](Op op) { return op == Op::grouped_matmul; }, "a product of groups");
}

bool groups_in_tiles(const plan::Context& context, const plan::Region& region) {
  const Node& node = node_of(context, region);
  const TensorType &x = context.graph.type(node.operands[0]), &weight = context.graph.type(node.operands[1]);
  constexpr int64_t most_rows = int64_t{1} << 21,
                    most_groups = 1 << 14;  // tiles in a grid's second dimension
  if (x.shape[0] > most_rows || weight.shape[0] > most_groups) return false;
  if (x.elements() == 0 || weight.elements() == 0) return false;
  return x.dtype == weight.dtype &&
         (x.dtype == DType::f32 || x.dtype == DType::f16 || x.dtype == DType::bf16);
}

Result<RegionCode> write_grouped(const RegionRequest& request) {
  STITCH_CHECK(accepts_grouped(request.context, request.region));
  const Node& node = node_of(request.context, request.region);
  if (groups_in_tiles(request.context, request.region) && lies_for_tiles(request, node))
    return write_tiles(request, node);
  auto make = [&] { return std::make_unique<GroupedEmitter>(request); };
  std::string idea = format("{}: a thread an element, the row's group found among the offsets. {} moved.",
                            ops_text(request), traffic_text(request));
  return assemble(request, idea, loop_kernels(request, make), {});
}

}  // namespace stitch::code::loops
