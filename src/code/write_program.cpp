#include "code/write_program.h"

#include <set>

#include "base/text.h"
#include "code/program_parts.h"

namespace stitch::code {

namespace {

Slot slot_of(const ProgramParts& parts, ValueId id) {
  const Resident& resident = parts.residents.at(id);
  Slot slot{parts.graph[id].name, {resident.place.dtype, resident.place.shape, {}}, {}};
  if (resident.home == Home::scratch) slot.order = parts.plan.storage[index_of(id)].order;
  return slot;
}

Manifest manifest_of(const ProgramParts& parts) {
  Manifest manifest{.name = parts.graph.name, .numerics = parts.plan.numerics, .signature = parts.signature};
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    const plan::Region& region = parts.plan.regions[r];
    ManifestRegion one{
        parts.region_names[r], format("regions/{}.cu", parts.region_names[r]), region.technique, {}, {}, {}};
    for (int32_t n : region.nodes)
      one.nodes.push_back(parts.graph[parts.graph.nodes[static_cast<size_t>(n)].results[0]].name);
    for (ValueId id : region.reads) one.reads.push_back(slot_of(parts, id));
    for (ValueId id : region.writes) one.writes.push_back(slot_of(parts, id));
    manifest.regions.push_back(std::move(one));
  }
  for (const char* library : {"cublasLt", "cudnn"})
    if (parts.uses(library)) manifest.libraries.emplace_back(library);
  return manifest;
}

// A region's file includes what it needs itself and no list of all regions, so that a change to one leaves
// the others' objects as they are.
std::string region_file(const RegionCode& region) {
  std::set<std::string> own;
  for (const std::string& line : split(region.includes, '\n'))
    if (!line.empty()) own.insert(line);
  own.insert("#include \"stitch/runtime/errors.h\"");
  for (const std::string& library : region.libraries)
    own.insert(library == "cudnn" ? "#include \"stitch/runtime/cudnn.h\""
                                  : "#include \"stitch/runtime/cublaslt.h\"");
  std::string out = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n\n#include <cstdint>\n\n";
  for (const std::string& line : own) out += line + "\n";
  return out + "\n" + region.source;
}

}  // namespace

Result<PackageContents> write_program(const Graph& graph, const plan::Plan& plan) {
  STITCH_TRY(ProgramParts parts, gather_parts(graph, plan));
  PackageContents contents{.manifest = manifest_of(parts)};
  for (size_t r = 0; r < parts.regions.size(); ++r)
    contents.sources[format("regions/{}.cu", parts.region_names[r])] = region_file(parts.regions[r]);
  contents.sources["regions.h"] = region_header(parts);
  contents.sources["program.cu"] = scaffold(parts);
  contents.sources["manifest.cu"] =
      "// What this program is; the tensors of the ABI, in order.\n#include \"stitch/program.h\"\n\nconst "
      "char* stitch_manifest(void) {\n  return R\"manifest(" +
      print_manifest(contents.manifest) + ")manifest\";\n}\n";
  return contents;
}

}  // namespace stitch::code
