// The example that models are given: packed weights, a library's product with an epilogue, a setting, scratch
// memory. And a library's convolution.
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
  constexpr const char* convolution = R"(/* resources
{"convolutions": [{"name": "conv", "batch": 2, "channels_in": 4, "channels_out": 6, "size": [9, 10],
                   "kernel": [3, 3], "stride": [2, 1], "padding": [1, 1], "bias": "b", "relu": true}]}
*/
StitchStatus enqueue_image(const float* x, const float* w, const stitch::Convolution& conv, float* z,
                           cudaStream_t stream) {
  return conv.enqueue(x, w, z, stream);
}
)";
  const plan::Source other{.function = "enqueue_image", .text = convolution, .author = "a test"};
  return {
      {.name = "mlp",
       .technique = "written",
       .graph = graph,
       .numerics = Numerics::half,
       .tolerance = 1e-3,
       .source = std::make_shared<const plan::Source>(source)},
      {.name = "image",
       .technique = "written",
       .graph = "input %x : f32[2,4,9,10]\nparameter %w : f32[6,4,3,3]\nparameter %b : f32[6]\n"
                "%y = conv(%x, %w, %b) stride=[2,1] padding=[1,1] dilation=[1,1] groups=1 : f32[2,6,5,10]\n"
                "%z = relu(%y) : f32[2,6,5,10]\noutput %z\n",
       .numerics = Numerics::strict,
       .source = std::make_shared<const plan::Source>(other)}};
}

PRODUCT_CASES(Written, written_cases());

}  // namespace
}  // namespace stitch::code
