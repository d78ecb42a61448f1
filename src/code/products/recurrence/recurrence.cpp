#include "code/products/recurrence/recurrence.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "code/names.h"
#include "code/products/parts.h"

namespace stitch::code {

namespace {

constexpr std::array rnn_ops = {Op::rnn};

// Places that kernels read as plain rows: dense, in the graph's type.
Result<const Place*> dense_operand(const RegionRequest& request, ValueId value) {
  auto view = find_view(request, value);
  const Value& named = request.graph[value];
  if (!view || !view->contiguous() || view->offset != 0 || view->place->dtype != named.type.dtype)
    return not_for(request.region, format("needs '{}' dense and in its own type", named.name));
  return view->place;
}

Recurrence sizes_of(const Graph& graph, const Node& node) {
  const Attributes& attributes = node.attributes;
  const Shape &x = graph.type(node.operands[0]).shape, &h0 = graph.type(node.operands[1]).shape;
  Recurrence r;
  r.kind = attributes.text("kind");
  r.gates = r.lstm() ? 4 : r.kind == "gru" ? 3 : 1;
  r.layers = attributes.integer("layers");
  r.directions = attributes.flag("bidirectional") ? 2 : 1;
  r.batch_first = attributes.flag("batch_first");
  r.biases = attributes.flag("biases");
  r.projected = attributes.integer("projection") != 0;
  r.dtype = graph.type(node.results[0]).dtype;
  r.steps = x[r.batch_first ? 1 : 0];
  r.batch = x[r.batch_first ? 0 : 1];
  r.input = x[2];
  r.output = h0[2];
  r.hidden = r.lstm() ? graph.type(node.operands[2]).shape[2] : r.output;
  return r;
}

}  // namespace

Result<void> accepts_recurrence(const Graph& graph, const plan::Region& region) {
  STITCH_TRY(Parts parts, parts_of(graph, region, rnn_ops));
  if (!parts.after.empty()) return not_for(region, "computes nothing behind its recurrence");
  DType dtype = graph.type(parts.product->results[0]).dtype;
  if (dtype != DType::f32 && dtype != DType::f64)
    return not_for(region, format("has no recurrence of {}", name(dtype)));
  return {};
}

Recurrence recurrence_sizes(const Graph& graph, const plan::Region& region) {
  for (int32_t n : region.nodes)
    if (const Node& node = graph.node(n); node.op == Op::rnn) return sizes_of(graph, node);
  throw Bug("a recurrence has one");
}

Result<Recurrence> recurrence_of(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, rnn_ops));
  const Node& node = *parts.product;
  const Graph& graph = request.graph;
  Recurrence r = sizes_of(graph, node);
  auto x = find_view(request, node.operands[0]);
  if (!x) return not_for(request.region, "can't read its input where it lies");
  r.x = r.batch_first ? permuted(*x, {1, 0, 2}) : *x;
  STITCH_TRY(r.h0, dense_operand(request, node.operands[1]));
  if (r.lstm()) {
    STITCH_TRY(r.c0, dense_operand(request, node.operands[2]));
  }
  size_t next = 3;
  for (int64_t i = 0; i < r.layers * r.directions; ++i) {
    Recurrence::Weights weights;
    STITCH_TRY(weights.input, dense_operand(request, node.operands[next++]));
    STITCH_TRY(weights.hidden, dense_operand(request, node.operands[next++]));
    if (r.biases) {
      STITCH_TRY(weights.input_bias, dense_operand(request, node.operands[next++]));
      STITCH_TRY(weights.hidden_bias, dense_operand(request, node.operands[next++]));
    }
    if (r.projected) {
      STITCH_TRY(weights.projection, dense_operand(request, node.operands[next++]));
    }
    r.weights.push_back(weights);
  }
  for (size_t i = 0; i < node.results.size(); ++i)
    for (const Place& place : request.writes)
      if (place.value == node.results[i]) (i == 0 ? r.y : i == 1 ? r.hn : r.cn) = &place;
  for (const Place* place : {r.y, r.hn, r.cn})
    if (place && (place->dtype != r.dtype || (place != r.y && !view_of(*place).contiguous())))
      return not_for(request.region, "writes its states dense and everything in its own type");
  if (r.y) {
    if (r.output * r.directions > 1 && r.y->strides[2] != 1)
      return not_for(request.region, "writes its features side by side");
    r.y_step = r.y->strides[r.batch_first ? 1 : 0];
    r.y_row = r.y->strides[r.batch_first ? 0 : 1];
  }
  return r;
}

std::string describe(const Recurrence& r) {
  return format("{}, {} layer{}{}{}: {} steps of {} samples, {} features in, {} hidden{}", r.kind, r.layers,
                r.layers > 1 ? "s" : "", r.directions > 1 ? " in both directions" : "",
                r.batch_first ? ", batch first" : "", r.steps, r.batch, r.input, r.hidden,
                r.projected ? format(", projected to {}", r.output) : "");
}

std::string filled_struct(const Recurrence& r, Signature& signature, std::string_view type,
                          std::string_view workspace) {
  signature.read(*r.x.place);
  for (const Place* place : {r.h0, r.c0})
    if (place) signature.read(*place);
  std::string lines = format("  {} r{{}};\n", type);
  for (size_t slot = 0; slot < r.weights.size(); ++slot) {
    std::vector<std::string> pointers;
    const Recurrence::Weights& w = r.weights[slot];
    for (const Place* place : {w.input, w.hidden, w.input_bias, w.hidden_bias}) {
      if (place) signature.read(*place);
      pointers.push_back(place ? place->pointer : "nullptr");
    }
    lines += format("  r.weights[{}] = {{{}}};\n", slot, join(pointers, ", "));
  }
  for (const Place* place : {r.y, r.hn, r.cn})
    if (place) signature.write(*place);
  signature.workspace();
  lines += format("  r.x = {}{};\n", r.x.place->pointer, r.x.offset ? format(" + {}", r.x.offset) : "");
  lines += format("  r.h0 = {};\n", r.h0->pointer);
  if (r.c0) lines += format("  r.c0 = {};\n", r.c0->pointer);
  lines += format("  r.{} = static_cast<float*>(workspace);\n", workspace);
  if (r.y)
    lines += format("  r.y = {};\n  r.y_step = {}, r.y_sample = {};\n", r.y->pointer, r.y_step, r.y_row);
  if (r.hn) lines += format("  r.hn = {};\n", r.hn->pointer);
  if (r.cn) lines += format("  r.cn = {};\n", r.cn->pointer);
  return lines;
}

double step_latency(const Graph& graph, const plan::Region& region,
                    double (*seconds)(double steps, double layers, bool both_directions)) {
  double sum = 0;
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    if (node.op != Op::rnn) continue;
    const Attributes& attributes = node.attributes;
    const int64_t steps = graph.type(node.operands[0]).shape[attributes.flag("batch_first") ? 1 : 0];
    sum += seconds(static_cast<double>(steps), static_cast<double>(attributes.integer("layers")),
                   attributes.flag("bidirectional"));
  }
  return sum;
}

}  // namespace stitch::code
