// The example that models are given: packed weights, a library's product with an epilogue, a setting, scratch
// memory.
#include "code/written.h"
#include "code/products/emulated/cases.h"

namespace stitch::code {
namespace {

std::vector<Case> written_cases() {
  std::string graph(graph_of_example());
  graph = graph.substr(graph.find('\n') + 1);
  graph.resize(graph.rfind("end\n"));
  const plan::Source source{
      .function = "enqueue_mlp", .text = std::string(example_of_written()), .author = "a test"};
  return {{.name = "mlp",
           .technique = "written",
           .graph = graph,
           .numerics = Numerics::half,
           .tolerance = 1e-3,
           .source = std::make_shared<const plan::Source>(source)}};
}

PRODUCT_CASES(Written, written_cases());

}  // namespace
}  // namespace stitch::code
