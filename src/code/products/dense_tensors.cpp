#include "code/products/dense_tensors.h"

#include <algorithm>

#include "base/text.h"

namespace stitch::code {

bool is_from_caller(const Graph& graph, ValueId value) {
  return graph[value].role == Role::input ||
         std::ranges::any_of(graph.updates, [&](const Update& each) { return each.value == value; }) ||
         std::ranges::find(graph.outputs, value) != graph.outputs.end();
}

std::string DenseTensors::read(const Place* place) {
  if (!place) return "nullptr";
  signature_.read(*place);
  if (!is_from_caller(request_.graph, place->value)) return place->pointer;
  std::string name = copy(*place);
  before += format(
      "  const float* {0}_at = {1};\n  if (!stitch::is_aligned({1}, 16)) {{\n    {0}_at = {0};\n"
      "    STITCH_CUDA(cudaMemcpyAsync({0}, {1}, {2} * sizeof(float), cudaMemcpyDeviceToDevice, "
      "stream));\n  }}\n",
      name, place->pointer, element_count(place->shape));
  return name + "_at";
}

std::string DenseTensors::write(const Place* place, const char* unused, int64_t elements) {
  if (!place) {
    if (!unused) return "nullptr";
    reserve(unused, elements);
    return unused;
  }
  signature_.write(*place);
  if (!is_from_caller(request_.graph, place->value)) return place->pointer;
  std::string name = copy(*place);
  before += format("  float* {0}_at = stitch::is_aligned({1}, 16) ? {1} : {0};\n", name, place->pointer);
  after += format(
      "  if ({0}_at != {1})\n    STITCH_CUDA(cudaMemcpyAsync({1}, {0}, {2} * sizeof(float), "
      "cudaMemcpyDeviceToDevice, "
      "stream));\n",
      name, place->pointer, element_count(place->shape));
  return name + "_at";
}

std::string DenseTensors::copy(const Place& place) {
  std::string name = place.pointer + "_aligned";
  reserve(name, element_count(place.shape));
  return name;
}

void DenseTensors::reserve(const std::string& name, int64_t elements) {
  signature_.workspace();
  before +=
      format("  auto* {} = reinterpret_cast<float*>(static_cast<char*>(workspace) + {});\n", name, bytes);
  bytes += (elements * 4 + 255) / 256 * 256;
}

}  // namespace stitch::code
