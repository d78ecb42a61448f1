// rnn.plain: the input's part of the gates for all steps by one plain product per layer and direction, then
// one kernel per step (kernels/recurrence.h): steps · layers · directions launches, each a few microseconds.
// Any kind of rnn, exact. The fallback.
#include "base/text.h"
#include "code/names.h"
#include "code/products/matmul/library_product.h"
#include "code/products/recurrence/recurrence.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

class Writer {
 public:
  Writer(const RegionRequest& request, Recurrence recurrence)
      : request_(request),
        r_(std::move(recurrence)),
        type_(element_type(r_.dtype)),
        signature_("enqueue_" + request.name) {}

  RegionCode write() {
    signature_.read(*r_.x.place);
    for (const Place* place : {r_.h0, r_.c0})
      if (place) signature_.read(*place);
    for (const Recurrence::Weights& w : r_.weights)
      for (const Place* place : {w.input, w.hidden, w.input_bias, w.hidden_bias, w.projection})
        if (place) signature_.read(*place);
    for (const Place* place : {r_.y, r_.hn, r_.cn})
      if (place) signature_.write(*place);
    signature_.workspace();

    int64_t width = r_.directions * r_.output;
    reserve("gates", {r_.steps, r_.batch, r_.gates, r_.hidden});
    if (r_.lstm() && !r_.cn) reserve("cell", {r_.batch, r_.hidden});
    if (r_.projected) reserve("unprojected", {r_.batch, r_.hidden});
    bool one_buffer = r_.layers > 1 || !r_.y;
    if (one_buffer) reserve("layer_a", {r_.steps, r_.batch, width});
    if (r_.layers > 2 || (r_.layers > 1 && !r_.y)) reserve("layer_b", {r_.steps, r_.batch, width});
    for (int64_t layer = 0; layer < r_.layers; ++layer)
      for (int64_t direction = 0; direction < r_.directions; ++direction) write_direction(layer, direction);

    RegionCode code;
    code.includes = "#include \"stitch/kernels/matmul.h\"\n#include \"stitch/kernels/recurrence.h\"\n";
    code.declaration = signature_.declaration();
    code.source = format(
        "// {}\n// The input's share of the gates in one product a layer and direction, then a kernel a "
        "step.\n{}"
        "{} {{\n{}{}  return STITCH_OK;\n}}\n",
        describe(r_), structs_, signature_.head(), locals_, body_);
    code.arguments = signature_.arguments();
    code.workspace_bytes = bytes_;
    return code;
  }

 private:
  void reserve(const std::string& name, const Shape& shape) {
    locals_ += format("  auto* {} = reinterpret_cast<{}*>(static_cast<char*>(workspace) + {});  // {}\n",
                      name, type_, bytes_, shape_comment(shape));
    bytes_ += (element_count(shape) * size_of(r_.dtype) + 255) / 256 * 256;
  }

  // A layer's input, as a product reads it, and where the layer's own result goes.
  struct Rows {
    std::string pointer;
    int64_t step, row;
  };
  Rows result_of(int64_t layer) const {
    int64_t width = r_.directions * r_.output;
    if (layer + 1 == r_.layers && r_.y) return {r_.y->pointer, r_.y_step, r_.y_row};
    return {layer % 2 == 0 ? "layer_a" : "layer_b", r_.batch * width, width};
  }

  // gates (steps, batch, gates · hidden) = x · weightᵀ + bias
  void write_input_product(int64_t layer, const Recurrence::Weights& weights, const std::string& suffix) {
    int64_t features = layer == 0 ? r_.input : r_.directions * r_.output, all = r_.gates * r_.hidden;
    Place gates{ValueId::none, "gates", r_.dtype, {r_.steps, r_.batch, all}, {r_.batch * all, all, 1}};
    Rows before = layer == 0 ? Rows{} : result_of(layer - 1);
    Place held{ValueId::none,
               before.pointer,
               r_.dtype,
               {r_.steps, r_.batch, features},
               {before.step, before.row, 1}};
    Labelled left{layer == 0 ? r_.x : view_of(held), {0, 1, 3}}, right{view_of(*weights.input), {2, 3}},
        out{view_of(gates), {0, 1, 2}};
    std::string product = type_name(request_.name, "Input") + suffix, functor = "stitch::NoEpilogue{}";
    Contraction contraction = contract(left, &right, out);
    structs_ += product_struct(contraction, product) + "\n";
    if (weights.input_bias) {
      std::string name = type_name(request_.name, "Bias") + suffix;
      structs_ += format(
          "struct {0} {{\n  const {1}* bias;  // ({2})\n  template <class Index>\n  __device__ {1} "
          "operator()({1} value, "
          "Index position) const {{ return value + bias[position % {2}]; }}\n}};\n\n",
          name, type_, all);
      functor = format("{}{{{}}}", name, weights.input_bias->pointer);
    }
    body_ += format(
        "  STITCH_OK_OR_RETURN(stitch::enqueue_product<{}>(\n      \"{}_input\", {}{{}}, {}, {}, gates, {}, "
        "stream));\n",
        product_lanes(contraction), request_.name, product, layer == 0 ? r_.x.place->pointer : before.pointer,
        weights.input->pointer, functor);
  }

  void write_direction(int64_t layer, int64_t direction) {
    int64_t slot = layer * r_.directions + direction;
    const Recurrence::Weights& weights = r_.weights[static_cast<size_t>(slot)];
    std::string suffix = r_.weights.size() == 1 ? "" : format("L{}{}", layer, direction ? "Reversed" : "");
    if (r_.weights.size() > 1)
      body_ += format("\n  // Layer {}{}\n", layer,
                      r_.directions == 1 ? ""
                      : direction        ? ", from the last step"
                                         : ", from the first step");
    write_input_product(layer, weights, suffix);

    Rows out = result_of(layer);
    int64_t column = direction * r_.output, state = r_.batch * r_.output, cell = r_.batch * r_.hidden;
    auto at = [](const std::string& pointer, int64_t offset) {
      return offset ? format("{} + {}", pointer, offset) : pointer;
    };
    auto last = [&](const Place* place, int64_t offset) {
      return place ? format("i == {} ? {} : nullptr", r_.steps - 1, at(place->pointer, offset)) : "nullptr";
    };
    std::string result =
        format("{} + step * int64_t{{{}}}{}", out.pointer, out.step, column ? format(" + {}", column) : "");
    std::string before = format("{} + (step {} 1) * int64_t{{{}}}{}", out.pointer, direction ? "+" : "-",
                                out.step, column ? format(" + {}", column) : "");
    std::string cells = r_.cn ? at(r_.cn->pointer, slot * cell) : "cell";
    body_ += format("  for (int i = 0; i < {}; ++i) {{\n", r_.steps);
    body_ += direction ? format("    int step = {} - i;\n", r_.steps - 1) : "    int step = i;\n";
    body_ += format("    stitch::RecurrenceStep<{}> s{{{}, {}, {}}};  // batch, hidden, output\n", type_,
                    r_.batch, r_.hidden, r_.output);
    body_ += format("    s.from_input = gates + step * int64_t{{{}}};\n", r_.batch * r_.gates * r_.hidden);
    body_ += format("    s.weight = {};\n", weights.hidden->pointer);
    if (weights.hidden_bias) body_ += format("    s.bias = {};\n", weights.hidden_bias->pointer);
    body_ += format("    s.state = i == 0 ? {} : {};\n", at(r_.h0->pointer, slot * state), before);
    body_ += format("    s.state_stride = i == 0 ? {} : {};\n", r_.output, out.row);
    if (r_.lstm()) {
      body_ += format("    s.cell_before = i == 0 ? {} : {};\n", at(r_.c0->pointer, slot * cell), cells);
      body_ += format("    s.cell = {};\n", cells);
    }
    if (r_.projected) {
      body_ += format("    s.result = unprojected;\n    s.result_stride = {};\n", r_.hidden);
    } else {
      body_ += format("    s.result = {};\n    s.result_stride = {};\n", result, out.row);
      if (r_.hn) body_ += format("    s.last = {};\n", last(r_.hn, slot * state));
    }
    body_ += format(
        "    STITCH_OK_OR_RETURN(stitch::enqueue_recurrence_step<stitch::RecurrenceKind::{}>(s, stream));\n",
        r_.kind);
    if (r_.projected)
      body_ += format(
          "    STITCH_OK_OR_RETURN(stitch::enqueue_projection<{}>(\n        unprojected, {}, {}, {}, {}, {}, "
          "{}, {}, stream));\n",
          type_, weights.projection->pointer, result, out.row, last(r_.hn, slot * state), r_.batch, r_.hidden,
          r_.output);
    body_ += "  }\n";
  }

  const RegionRequest& request_;
  Recurrence r_;
  std::string_view type_;
  Signature signature_;
  std::string structs_, locals_, body_;
  int64_t bytes_ = 0;
};

Result<void> accepts_rnn_plain(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  return accepts_recurrence(graph, region);
}

Result<RegionCode> write_rnn_plain(const RegionRequest& request) {
  STITCH_TRY(Recurrence recurrence, recurrence_of(request));
  return Writer(request, std::move(recurrence)).write();
}

}  // namespace

constinit const ProductTechnique rnn_plain{{
    .name = "rnn.plain",
    .idea = "one product for all steps, then one kernel per step",
    .kind = plan::Kind::recurrence,
    .entry = plan::Entry::plain,
    .accepts = accepts_rnn_plain,
    .write = write_rnn_plain,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return plain_rate(context);
    },
    .latency =
        [](const plan::Context& context, const plan::Region& region) {
          return step_latency(context.graph, region, [](double steps, double layers, bool both) {
            return steps * layers * (both ? 2 : 1) * 4e-6;
          });
        },
}};

}  // namespace stitch::code
