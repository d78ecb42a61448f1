// The program's members: handles, settings, and pointers into its arena.
#include <algorithm>
#include <set>
#include <string_view>

#include "code/lines.h"
#include "code/names.h"
#include "code/scaffold/sections.h"

namespace stitch::code {

KeptMemory kept_memory(const ProgramParts& parts) {
  KeptMemory out;
  for (const auto& [id, resident] : parts.residents)
    if (resident.home == Home::weight) out.weights.push_back(&resident);
  std::ranges::sort(out.weights, {}, &Resident::index);
  for (const Resident* weight : out.weights)
    if (parts.keeps(*weight)) out.kept.insert(weight->name);

  // Scratch first, then weights that stay, then packed memory.
  out.bytes = parts.layout.bytes;
  auto add = [&](const std::string& name, int64_t bytes) {
    out.offsets[name] = out.bytes;
    out.bytes += (bytes + 255) / 256 * 256;
  };
  for (const Resident* weight : out.weights)
    if (out.keeps(*weight)) add(weight->name, weight->bytes);
  for (const RegionCode& region : parts.regions)
    for (const Packed& packed : region.packed)
      if (packed.same_as.empty()) add(packed.name, packed.elements * packed.element_bytes);
  return out;
}

std::vector<Handle> handles(const ProgramParts& parts) {
  std::vector<Handle> out;
  struct Of {
    Handle::Library library;
    std::string_view named, type, handle;  // named: in RegionCode::libraries
  };
  for (const Of& of : {Of{Handle::cublas, "cublasLt", "stitch::CublasLt", "cublas"},
                       Of{Handle::cudnn, "cudnn", "stitch::Cudnn", "cudnn"}}) {
    std::set<int> branches;
    for (size_t r = 0; r < parts.regions.size(); ++r)
      if (std::ranges::find(parts.regions[r].libraries, of.named) != parts.regions[r].libraries.end())
        branches.insert(parts.plan.regions[r].branch);
    for (int branch : branches)
      out.push_back({of.library, std::string(of.type), handle_of_branch(std::string(of.handle), branch)});
  }
  return out;
}

std::string workspace_name(const ProgramParts& parts, size_t region) {
  return "workspace_of_" + parts.region_names[region];
}

std::string members_section(const ProgramParts& parts, const KeptMemory& memory) {
  std::string out = "  int device = 0;\n  stitch::Arena arena;\n";
  if (!parts.starts_kernels_itself()) out += "  stitch::GraphCache graphs;\n";
  if (parts.branches() > 1) out += format("  stitch::Branches<{}> branches;\n", parts.branches());
  for (const Handle& handle : handles(parts)) out += format("  {} {};\n", handle.type, handle.name);
  // As they are when the program is created.
  for (const RegionCode& region : parts.regions)
    for (const Setting& setting : region.settings)
      out += format("  const {} {} = settings::{};\n", setting.type, setting.variable, setting.variable);
  if (parts.offers_programmatic_launches())
    out += format("  const int {0} = settings::{0};\n", programmatic_launches);

  Lines residents;
  auto add = [&](const Resident& each) {
    residents.add(format("  {}* {} = nullptr;", element_type(each.place.dtype), each.name),
                  shape_comment(each.place.shape));
  };
  for (const Resident* weight : memory.weights)
    if (memory.keeps(*weight)) add(*weight);
  for (ValueId id : parts.scratch) add(parts.residents.at(id));
  out += residents.text();
  auto pointer = [&](std::string_view type, const std::string& name) {
    out += format("  {}* {} = nullptr;\n", type, name);
  };
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    for (const Packed& packed : parts.regions[r].packed) pointer(packed.type, packed.name);
    for (const Member& member : parts.regions[r].members)
      out += format("  {} {};\n", member.type, member.name);
    if (parts.workspace_at[r] >= 0) pointer("char", workspace_name(parts, r));
    for (const Prepared& prepared : parts.regions[r].prepared)
      if (!prepared.made_earlier) pointer("char", prepared.name);
  }
  return out;
}

}  // namespace stitch::code
