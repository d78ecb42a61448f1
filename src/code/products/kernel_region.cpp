#include "code/products/kernel_region.h"

#include "base/text.h"
#include "code/products/signature.h"

namespace stitch::code {

RegionCode write_kernel(const RegionRequest& request, const Place& out, const Epilogue& epilogue,
                        const KernelRegion& region) {
  RegionCode code;
  code.includes = format("#include \"stitch/kernels/{}\"\n", region.header);
  code.source = format("// {}{}\n// {}\n{}{}", region.summary, epilogue.then(), region.idea, region.structs,
                       epilogue.text());
  Signature signature("enqueue_" + request.name);
  for (const Place* place : region.reads) signature.read(*place);
  if (const auto& packed = region.packed) {
    const std::string function = "pack_" + request.name,
                      comment = format("({}): {}", packed->elements, packed->comment);
    code.packed.push_back(packed_memory(packed->name, packed->type, packed->elements,
                                        PackCall{function, {packed->weight.pointer, packed->name}}));
    signature.packed(code.packed.back(), comment);
    Signature pack(function);
    pack.read(packed->weight);
    pack.add(Signature::writes, code.packed.back().type + "*", "packed", comment);
    code.declaration = pack.declaration();
    code.source += format("{} {{\n  return stitch::{}({}, packed, stream);\n}}\n\n", pack.head(),
                          packed->call, packed->weight.pointer);
  }
  for (const Place* place : epilogue.places) signature.read(*place);
  signature.write(out);
  code.declaration += signature.declaration();
  code.source += format("{} {{\n  return stitch::{}(\n      \"{}\", {}, {}, stream);\n}}\n", signature.head(),
                        region.call, request.name, join(region.arguments, ", "), epilogue.construct);
  code.arguments = signature.arguments();
  return code;
}

}  // namespace stitch::code
