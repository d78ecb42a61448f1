// rnn.cudnn: the whole recurrence in one cuDNN call (kernels/recurrence_cudnn.h). Exact FP32 in class strict,
// TF32 if the class allows it, PyTorch's default for recurrences. Its algorithm is a setting: 1 is cuDNN's
// persistent one, 3 the one for small hidden sizes. No projections. Chosen if none of our persistent kernels
// fits.
#include "base/text.h"
#include "code/products/parts.h"
#include "code/products/recurrence/recurrence.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

Result<void> accepts_rnn_cudnn(const plan::Context& context, const plan::Region& region) {
  const Graph& graph = context.graph;
  STITCH_CHECK(accepts_recurrence(graph, region));
  for (int32_t index : region.nodes) {
    const Node& node = graph.node(index);
    if (node.op != Op::rnn) continue;
    if (graph.type(node.results[0]).dtype != DType::f32)
      return not_for(region, "has recurrences of f32 only");
    if (node.attributes.integer("projection") != 0) return not_for(region, "has no projections");
    for (size_t i = 3; i < node.operands.size(); ++i)
      if (!graph[node.operands[i]].has_data())
        return not_for(region, "packs weights that are there from the start");
    if (graph.type(node.operands[0]).elements() == 0)
      return not_for(region, "has no recurrence over nothing");
  }
  return {};
}

Result<RegionCode> write_rnn_cudnn(const RegionRequest& request) {
  STITCH_TRY(Recurrence r, recurrence_of(request));
  View stored = r.batch_first ? permuted(r.x, {1, 0, 2}) : r.x;
  if (!stored.contiguous() || stored.offset != 0 || stored.place->dtype != DType::f32)
    return not_for(request.region, "needs its input dense, in f32");
  if (r.y && !view_of(*r.y).contiguous()) return not_for(request.region, "writes its output dense");

  Signature signature("enqueue_" + request.name);
  DenseTensors tensors(request, signature);
  std::string x = tensors.read(r.x.place), h0 = tensors.read(r.h0), c0 = tensors.read(r.c0);
  std::string y = tensors.write(r.y, "unused_y", r.steps * r.batch * r.directions * r.output);
  std::string hn = tensors.write(r.hn, nullptr, 0), cn = tensors.write(r.cn, nullptr, 0);

  std::string member = request.name + "_recurrence";
  std::vector<std::string> weights;
  for (const Recurrence::Weights& w : r.weights)
    for (const Place* place : {w.input, w.hidden, w.input_bias, w.hidden_bias})
      if (place) weights.push_back(place->pointer);
  std::string kind = r.lstm()           ? "CUDNN_LSTM"
                     : r.kind == "gru"  ? "CUDNN_GRU"
                     : r.kind == "relu" ? "CUDNN_RNN_RELU"
                                        : "CUDNN_RNN_TANH";
  std::string spec = format(
      "{{\n  // kind, steps, batch, input, hidden, layers, directions\n"
      "  stitch::RecurrenceSpec spec{{{}, {}, {}, {}, {}, {}, {}}};\n",
      kind, r.steps, r.batch, r.input, r.hidden, r.layers, r.directions);
  if (r.batch_first) spec += "  spec.batch_first = true;\n";
  if (!r.biases) spec += "  spec.biases = false;\n";
  if (request.context.numerics != Numerics::strict) spec += "  spec.math = CUDNN_DEFAULT_MATH;\n";
  RegionCode code;
  spec += format("  spec.algorithm = static_cast<cudnnRNNAlgo_t>({});\n",
                 add_setting(code, request.region, member, "algorithm", "int", {0, 1, 3}, 0));
  spec += format(
      "  const float* const weights[] = {{{}}};\n  STITCH_OK_OR_RETURN({}.create({}, spec, weights));\n}}",
      join(weights, ", "), member, request.cudnn);

  code.members.push_back({"stitch::CudnnRecurrence", member, spec, weights});
  signature.member(code.members.back());
  code.includes = "#include \"stitch/kernels/recurrence_cudnn.h\"\n#include \"stitch/runtime/tensors.h\"\n";
  code.libraries = {"cudnn"};
  code.declaration = signature.declaration();
  code.source = format(
      "// {}\n// By cuDNN in one call; {} holds the weights in its order.\n{} {{\n{}"
      "  STITCH_OK_OR_RETURN({}.enqueue({}, {}, {}, {}, {}, {}, stream));\n{}  return STITCH_OK;\n}}\n",
      describe(r), member, signature.head(), tensors.before, member, x, h0, c0, y, hn, cn, tensors.after);
  code.arguments = signature.arguments();
  code.workspace_bytes = tensors.bytes;
  return code;
}

}  // namespace

constinit const ProductTechnique rnn_cudnn{{
    .name = "rnn.cudnn",
    .idea = "the whole recurrence in one cuDNN call",
    .kind = plan::Kind::recurrence,
    .accepts = accepts_rnn_cudnn,
    .write = write_rnn_cudnn,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.5 * context.gpu.fp32, 0.5, 8};
    },
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {{"algorithm",
               "cuDNN's algorithm: 0 standard, 1 persistent, 3 persistent for small sizes",
               {0, 1, 3},
               false}};
    },
    // Measured on an H200: 512 steps of 6 layers of 256 units took 7.5 to 8.3 ms, in both directions 20
    // to 22.
    .latency =
        [](const plan::Context& context, const plan::Region& region) {
          return step_latency(context.graph, region, [](double steps, double layers, bool both) {
            return steps * layers * (both ? 7e-6 : 2.5e-6);
          });
        },
    .operand_precision =
        [](const plan::Context& context, const plan::Region&) {
          return context.numerics == Numerics::strict ? plan::Precision::f32 : plan::Precision::tf32;
        },
}};

}  // namespace stitch::code
