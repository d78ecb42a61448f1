// What PyTorch multiplies in, convolution by convolution: cuDNN decides, so it is asked with the real shapes.
#include <nlohmann/json.hpp>

#include "reference/torch_reference.h"

namespace stitch::verifier {

namespace {

Json shape_of(const Graph& graph, const Node& node) {
  const Attributes& attributes = node.attributes;
  Json out = {{"x", graph.type(node.operands[0]).shape}, {"weight", graph.type(node.operands[1]).shape}};
  for (const char* name : {"stride", "padding", "dilation"}) out[name] = attributes.integers(name);
  out["groups"] = attributes.integer("groups");
  out["transposed"] = node.op == Op::conv_transpose;
  if (node.op == Op::conv_transpose) out["output_padding"] = attributes.integers("output_padding");
  return out;
}

}  // namespace

Result<std::map<int32_t, bool>> TorchReference::tf32_convolutions() {
  std::map<int32_t, bool> out;
  std::map<std::string, std::vector<int32_t>> same;  // layers that repeat are asked about once
  Json shapes = Json::array();
  for (int32_t n = 0; n < std::ssize(task_.graph.nodes); ++n) {
    const Node& node = task_.graph.node(n);
    if (node.op != Op::conv && node.op != Op::conv_transpose) continue;
    if (task_.graph.type(node.operands[0]).dtype != DType::f32) continue;
    Json shape = shape_of(task_.graph, node);
    std::vector<int32_t>& nodes = same[shape.dump()];
    if (nodes.empty()) shapes.push_back(std::move(shape));
    nodes.push_back(n);
  }
  if (shapes.empty()) return out;
  STITCH_TRY(Json answer, process_.ask({{"do", "arithmetic"}, {"convolutions", shapes}}));
  const Json& found = answer.at("tf32");
  for (size_t i = 0; i < shapes.size() && i < found.size(); ++i)
    if (found[i].is_boolean())
      for (int32_t n : same[shapes[i].dump()]) out[n] = found[i].get<bool>();
  return out;
}

}  // namespace stitch::verifier
