#include "code/scaffold/scaffold.h"

#include <algorithm>

#include "code/scaffold/sections.h"

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

}  // namespace stitch::code
