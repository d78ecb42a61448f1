#include "code/products/matmul/contraction.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "code/products/signature.h"
#include "graph/einsum.h"

namespace stitch::code {

int64_t extent(const Axes& axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

namespace {

// A repeated label is a diagonal.
int64_t stride_of(const Labelled& tensor, const std::vector<int64_t>& strides, int label) {
  int64_t stride = 0;
  for (size_t d = 0; d < tensor.labels.size(); ++d)
    if (tensor.labels[d] == label) stride += strides[d];
  return stride;
}

bool has(const Labelled* tensor, int label) {
  return tensor && std::ranges::find(tensor->labels, label) != tensor->labels.end();
}

void join_neighbours(Axes& axes, int64_t Axis::*order) {
  std::ranges::stable_sort(axes, std::greater<>(), order);
  Axes out;
  for (const Axis& axis : axes) {
    auto follows = [&](int64_t Axis::*tensor) { return out.back().*tensor == axis.*tensor * axis.extent; };
    bool joins = !out.empty();
    for (int64_t Axis::*tensor : {&Axis::left, &Axis::right, &Axis::out, &Axis::position})
      joins = joins && follows(tensor);
    if (joins) {
      int64_t extent = out.back().extent * axis.extent;
      out.back() = axis;
      out.back().extent = extent;
    } else {
      out.push_back(axis);
    }
  }
  axes = std::move(out);
}

}  // namespace

Contraction contract(const Labelled& left, const Labelled* right, const Labelled& out) {
  Contraction made;
  made.left = left.view;
  if (right) made.right = right->view;
  made.out = out.view;
  std::vector<int64_t> dense = contiguous_strides(out.view.shape);
  std::vector<int> seen;
  auto take = [&](const Labelled& tensor) {
    for (size_t d = 0; d < tensor.labels.size(); ++d) {
      int label = tensor.labels[d];
      if (std::ranges::find(seen, label) != seen.end()) continue;
      seen.push_back(label);
      Axis axis{tensor.view.shape[d]};
      axis.left = stride_of(left, left.view.strides, label);
      if (right) axis.right = stride_of(*right, right->view.strides, label);
      axis.out = stride_of(out, out.view.strides, label);
      axis.position = stride_of(out, dense, label);
      bool in_left = has(&left, label), in_right = has(right, label);
      if (axis.extent == 1) continue;
      if (!has(&out, label)) {
        made.depth.push_back(axis);
      } else if (in_left && in_right && axis.left != 0 && axis.right != 0) {
        made.batch.push_back(axis);
      } else {
        // A batch dimension that one side lacks becomes rows or columns of the other.
        (axis.left != 0 || !in_right ? made.rows : made.columns).push_back(axis);
      }
    }
  };
  take(left);
  if (right) take(*right);
  join_neighbours(made.batch, &Axis::position);
  join_neighbours(made.rows, &Axis::position);
  join_neighbours(made.columns, &Axis::position);
  join_neighbours(made.depth, &Axis::left);
  return made;
}

namespace {

std::vector<int> letters(const std::string& text) { return {text.begin(), text.end()}; }

Result<Labelled> operand(const RegionRequest& request, const Parts& parts, size_t index,
                         std::vector<int> labels) {
  ValueId value = parts.product->operands[index];
  auto view = find_view(request, value);
  if (!view)
    return not_for(request.region, format("can't read '{}' where it lies", request.graph[value].name));
  return Labelled{*view, std::move(labels)};
}

// Contracts pairs from the left; a letter is summed after its last use.
Result<Products> products_of_einsum(const RegionRequest& request, const Parts& parts, const View& out) {
  STITCH_TRY(Einsum einsum, parse_einsum(parts.product->attributes.text("equation")));
  Products products;
  STITCH_TRY(Labelled held, operand(request, parts, 0, letters(einsum.operands[0])));
  Labelled result{out, letters(einsum.result)};
  size_t count = einsum.operands.size();
  if (count == 1) products.steps.push_back(contract(held, nullptr, result));
  for (size_t i = 1; i < count; ++i) {
    STITCH_TRY(Labelled next, operand(request, parts, i, letters(einsum.operands[i])));
    if (i + 1 == count) {
      products.steps.push_back(contract(held, &next, result));
      break;
    }
    std::string needed = einsum.result;
    for (size_t j = i + 1; j < count; ++j) needed += einsum.operands[j];
    Labelled between;
    Shape shape;
    for (const Labelled* side : {&held, &next})
      for (size_t d = 0; d < side->labels.size(); ++d) {
        int label = side->labels[d];
        if (needed.find(static_cast<char>(label)) == std::string::npos || has(&between, label)) continue;
        between.labels.push_back(label);
        shape.push_back(side->view.shape[d]);
      }
    DType dtype = request.graph.type(parts.product->results[0]).dtype;
    if (dtype == DType::f16 || dtype == DType::bf16) dtype = DType::f32;
    if (is_integer(dtype)) dtype = DType::i64;
    products.made.push_back(
        {ValueId::none, format("partial_{}", i), dtype, shape, contiguous_strides(shape)});
    between.view = view_of(products.made.back());
    products.steps.push_back(contract(held, &next, between));
    held = std::move(between);
  }
  return products;
}

Result<Products> strided_products(const RegionRequest& request, const Parts& parts, const View& out) {
  const Node& node = *parts.product;
  if (node.op == Op::einsum) return products_of_einsum(request, parts, out);

  int rank = static_cast<int>(out.shape.size());
  std::vector<int> result(out.shape.size());
  std::iota(result.begin(), result.end(), 0);
  int shared = rank, column = rank - 1;
  Products products;
  if (node.op == Op::linear) {
    std::vector<int> labels = result;
    labels.back() = shared;
    STITCH_TRY(Labelled x, operand(request, parts, 0, std::move(labels)));
    STITCH_TRY(Labelled weight, operand(request, parts, 1, {column, shared}));
    products.steps.push_back(contract(x, &weight, {out, result}));
    return products;
  }
  auto matrix = [&](size_t index, int first, int second) -> Result<Labelled> {
    STITCH_TRY(Labelled tensor, operand(request, parts, index, {}));
    // Broadcast batch dimensions get stride 0.
    Shape shape(out.shape.begin(), out.shape.end() - 2);
    shape.insert(shape.end(), tensor.view.shape.end() - 2, tensor.view.shape.end());
    tensor.view = expanded(tensor.view, shape);
    tensor.labels.assign(result.begin(), result.end() - 2);
    tensor.labels.push_back(first);
    tensor.labels.push_back(second);
    return tensor;
  };
  STITCH_TRY(Labelled a, matrix(0, rank - 2, shared));
  STITCH_TRY(Labelled b, matrix(1, shared, column));
  products.steps.push_back(contract(a, &b, {out, result}));
  return products;
}

}  // namespace

Result<Products> products_of(const RegionRequest& request, const Parts& parts) {
  STITCH_TRY(ResultPlace out, result_place(request, parts));
  STITCH_TRY(Products products, strided_products(request, parts, out.view));
  products.steps.back().scatter = out.scatter;
  return products;
}

Result<void> accepts_views(const Graph& graph, const plan::Region& region, const Parts& parts) {
  std::map<ValueId, View> known;
  auto view_of_value = [&](ValueId id) {
    auto found = known.find(id);
    if (found != known.end()) return found->second;
    const TensorType& type = graph.type(id);
    return View{nullptr, type.shape, type.strides.empty() ? contiguous_strides(type.shape) : type.strides};
  };
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    if (!is_view(node.op) || std::ranges::find(parts.after, &node) != parts.after.end()) continue;
    auto view = viewed(node, view_of_value(node.operands[0]));
    if (!view) return not_for(region, format("can't read '{}' where it lies", graph[node.results[0]].name));
    known[node.results[0]] = *std::move(view);
  }
  return {};
}

std::string describe(const Contraction& contraction) {
  auto named = [](const View& view) {
    return format("{} {}", view.place->pointer, shape_comment(view.shape));
  };
  std::string text = format("{} = {}", named(contraction.out), named(contraction.left));
  if (contraction.has_right()) text += " · " + named(contraction.right);
  return text;
}

Index index_in(const Contraction& contraction, int64_t Axis::*tensor) {
  if (tensor == &Axis::out && contraction.scatter)
    return contraction.scatter(index_in(contraction, &Axis::position));
  Index sum;
  auto add = [&](const Axes& axes, const char* name) {
    if (extent(axes) == 0) return;
    Shape extents;
    std::vector<int64_t> strides;
    for (const Axis& axis : axes) {
      extents.push_back(axis.extent);
      strides.push_back(axis.*tensor);
    }
    sum = sum + position(unflatten(Index::variable(name, extent(axes)), extents), strides);
  };
  add(contraction.batch, "batch");
  add(contraction.rows, "row");
  add(contraction.columns, "column");
  add(contraction.depth, "k");
  if (tensor == &Axis::left) sum = sum + contraction.left.offset;
  if (tensor == &Axis::right) sum = sum + contraction.right.offset;
  if (tensor == &Axis::out) sum = sum + contraction.out.offset;
  return sum;
}

}  // namespace stitch::code
