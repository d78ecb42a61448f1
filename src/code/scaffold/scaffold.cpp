// program.cu from its sections, and its headers: regions.h and settings.h.
#include "code/scaffold/scaffold.h"

#include <algorithm>

#include "base/text.h"
#include "code/names.h"

namespace stitch::code {

std::string includes_section(const ProgramParts& parts) {
  const bool replayed = !parts.starts_kernels_itself();
  std::string out = format("// {}: {} region{}, {}.\n#include \"regions.h\"\n", parts.graph.name,
                           parts.regions.size(), parts.regions.size() > 1 ? "s" : "",
                           parts.takes_sizes() ? "replayed as one CUDA graph for each size"
                           : replayed          ? "replayed as one CUDA graph"
                                               : "started without a graph");
  if (parts.has_settings()) out += "#include \"settings.h\"\n";
  out += "#include \"stitch/runtime/arena.h\"\n";
  if (parts.branches() > 1) out += "#include \"stitch/runtime/branches.h\"\n";
  out += "#include \"stitch/runtime/exports.h\"\n";
  if (parts.takes_sizes())
    out += "#include \"stitch/runtime/passes.h\"\n";
  else if (replayed)
    out += "#include \"stitch/runtime/graph.h\"\n";
  if (parts.offers_programmatic_launches()) out += "#include \"stitch/runtime/launch.h\"\n";
  return out;
}

std::string scaffold(const ProgramParts& parts) {
  const KeptMemory memory = kept_memory(parts);
  std::string out = includes_section(parts);
  out += format("\nnamespace {{\n\n{}\nconstexpr size_t arena_bytes = {};\n\n}}  // namespace\n\n",
                contracts_section(parts), std::max<int64_t>(memory.bytes, 1));
  if (parts.takes_sizes()) return out + sized_program(parts, memory);
  out += format("struct StitchProgram {{\n{}\n{}\n{}}};\n\n", members_section(parts, memory),
                create_section(parts, memory), enqueue_section(parts));
  return out + exports_section() + run_region_section(parts);
}

// The tensors of the ABI, in order.

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

// The C ABI over the program's struct.

std::string exports_section() {
  return R"(int stitch_create(const StitchTensor* params, int count, int device, StitchProgram** out) {
  return stitch::create_program(parameters, params, count, device, out);
}
int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in, StitchTensor* out, int n_out,
               void* stream) {
  return stitch::run_program(program, inputs, in, n_in, outputs, out, n_out, stream);
}
void stitch_destroy(StitchProgram* program) { stitch::destroy_program(program); }
const char* stitch_last_error(void) { return stitch::last_error(); }

)";
}

// regions.h and settings.h.

std::string settings_header(const ProgramParts& parts) {
  std::string out =
      "// Numbers that stitch_set may change before the program is created; manifest.cu has their "
      "values.\n#pragma once\n\n#include \"stitch/runtime/settings.h\"\n\nnamespace settings {\n";
  for (const RegionCode& region : parts.regions)
    for (const Setting& setting : region.settings)
      out += format("extern stitch::Setting {};\n", setting.variable);
  if (parts.offers_programmatic_launches())
    out += format("extern stitch::Setting {};\n", programmatic_launches);
  return out + "}  // namespace settings\n";
}

std::string region_header(const ProgramParts& parts) {
  std::string out =
      "// What program.cu calls, region by region. Shapes are the program's own: it is built for these.\n"
      "#pragma once\n\n";
  std::set<DType> dtypes;
  std::set<std::string> includes = {"#include \"stitch/runtime/errors.h\""};
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    const RegionCode& region = parts.regions[r];
    dtypes.insert(parts.dtypes[r].begin(), parts.dtypes[r].end());
    // Types of members and of packed memory.
    if (region.members.empty() && region.packed.empty()) continue;
    for (const std::string& line : split(region.includes, '\n'))
      if (!line.empty()) includes.insert(line);
  }
  if (parts.uses("cublasLt")) includes.insert("#include \"stitch/runtime/cublaslt.h\"");
  if (parts.uses("cudnn")) includes.insert("#include \"stitch/runtime/cudnn.h\"");
  out += cuda_includes(dtypes) + "#include <cstdint>\n\n";
  for (const std::string& line : includes) out += line + "\n";
  if (parts.takes_sizes()) out += "\n#include \"sizes.h\"\n";
  for (const RegionCode& region : parts.regions)
    if (!region.declaration.empty()) out += "\n" + region.declaration;
  return out;
}

}  // namespace stitch::code
