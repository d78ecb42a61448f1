#include "code/technique.h"

#include "code/loops/families.h"
#include "code/region_code.h"

namespace stitch::code {

namespace {

std::string_view product_technique(Op op) {
  switch (op) {
    case Op::linear:
    case Op::matmul:
    case Op::einsum: return "matmul.plain";
    case Op::conv:
    case Op::conv_transpose: return "conv.plain";
    case Op::attention: return "attention.plain";
    case Op::rnn: return "rnn.plain";
    default: return {};
  }
}

}  // namespace

Result<std::string> plain_technique(const Graph& graph, const plan::Region& region) {
  for (int32_t n : region.nodes) {
    std::string_view technique = product_technique(graph.nodes[static_cast<size_t>(n)].op);
    if (technique.empty()) continue;
    STITCH_CHECK(find_family(technique)->accepts(graph, region));
    return std::string(technique);
  }
  STITCH_TRY(std::string_view technique, loops::classify(graph, region));
  return std::string(technique);
}

plan::Techniques techniques() {
  return {plain_technique,
          [](std::string_view technique, const Graph& graph, const plan::Region& region) {
            const Family* family = find_family(technique);
            return family && family->accepts(graph, region);
          },
          loops::seconds_by_memory};
}

}  // namespace stitch::code
