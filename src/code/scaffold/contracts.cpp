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

std::string tensors(const std::vector<ManifestTensor>& of) {
  std::vector<std::string> each;
  for (const ManifestTensor& tensor : of)
    each.push_back(
        contract(tensor.name, tensor.type.dtype, tensor.type.shape,
                 tensor.type.strides.empty() ? contiguous_strides(tensor.type.shape) : tensor.type.strides));
  return format("stitch::contracts({})", join(each, ", "));
}

std::string contracts_section(const ProgramParts& parts) {
  std::string out = format("constexpr auto parameters = {};\n", tensors(parts.signature.parameters));
  for (const auto& [name, list] :
       {std::pair("inputs", &parts.signature.inputs), std::pair("outputs", &parts.signature.outputs)})
    out += parts.takes_sizes() ? format("auto {}(const Sizes& sizes) {{\n  (void)sizes;\n  return {};\n}}\n",
                                        name, tensors(*list))
                               : format("constexpr auto {} = {};\n", name, tensors(*list));
  return out;
}

}  // namespace stitch::code
