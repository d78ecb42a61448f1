// The tensors of the ABI, in order.
#include "base/text.h"
#include "code/names.h"
#include "code/scaffold/sections.h"

namespace stitch::code {

std::string contract(const std::string& label, DType dtype, const Shape& shape,
                     const std::vector<int64_t>& strides) {
  std::string out = format("stitch::contract({}, {}", quote(label), abi_type(dtype));
  if (shape.empty()) return out + ")";
  out += ", {" + join(shape, ", ") + "}";
  if (strides != contiguous_strides(shape)) out += ", {" + join(strides, ", ") + "}";
  return out + ")";
}

std::string contracts_section(const ProgramParts& parts) {
  std::string out;
  auto list = [&](const char* what, const std::vector<ManifestTensor>& tensors) {
    std::vector<std::string> each;
    for (const ManifestTensor& tensor : tensors)
      each.push_back(contract(
          tensor.name, tensor.type.dtype, tensor.type.shape,
          tensor.type.strides.empty() ? contiguous_strides(tensor.type.shape) : tensor.type.strides));
    out += format("constexpr auto {} = stitch::contracts({});\n", what, join(each, ", "));
  };
  list("parameters", parts.signature.parameters);
  list("inputs", parts.signature.inputs);
  list("outputs", parts.signature.outputs);
  return out;
}

}  // namespace stitch::code
