// The program's members: handles, settings, and pointers into its arena.
#include <algorithm>
#include <set>
#include <string_view>

#include "code/names.h"
#include "code/scaffold/scaffold.h"

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

void add_pointer(Lines& lines, const Resident& resident, const std::string& value) {
  lines.add(format("  {}* {} = {};", element_type(resident.place.dtype), resident.name, value),
            layout_comment(resident.place));
}

std::vector<SharedMember> shared_members(const ProgramParts& parts) {
  std::vector<SharedMember> out;
  if (parts.branches() > 1) out.push_back({format("stitch::Branches<{}>", parts.branches()), "branches", {}});
  for (const Handle& handle : handles(parts)) out.push_back({handle.type, handle.name, {}});
  // As they are when the program is created.
  for (const RegionCode& region : parts.regions)
    for (const Setting& setting : region.settings)
      out.push_back({"const " + setting.type, setting.variable, " = settings::" + setting.variable});
  if (parts.offers_programmatic_launches())
    out.push_back(
        {"const int", std::string(programmatic_launches), format(" = settings::{}", programmatic_launches)});
  return out;
}

std::string members_section(const ProgramParts& parts, const KeptMemory& memory) {
  std::string out = "  int device = 0;\n  stitch::Arena arena;\n";
  const bool of_a_pass = parts.takes_sizes();
  if (!parts.starts_kernels_itself() && !of_a_pass) out += "  stitch::GraphCache graphs;\n";
  for (const SharedMember& each : shared_members(parts))
    out += format("  {} {}{};\n", each.type, each.name, each.value);

  Lines residents;
  for (const Resident* weight : memory.weights)
    if (memory.keeps(*weight)) add_pointer(residents, *weight, "nullptr");
  for (size_t i = 0; i < parts.scratch.size(); ++i)
    if (!of_a_pass || parts.layout.offsets[i] >= 0)
      add_pointer(residents, parts.residents.at(parts.scratch[i]), "nullptr");
  out += residents.text();
  auto pointer = [&](std::string_view type, const std::string& name) {
    out += format("  {}* {} = nullptr;\n", type, name);
  };
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    for (const Packed& packed : parts.regions[r].packed) pointer(packed.type, packed.name);
    if (of_a_pass && !parts.constant[r]) continue;
    for (const Member& member : parts.regions[r].members)
      out += format("  {} {};\n", member.type, member.name);
    if (parts.workspace_at[r] >= 0) pointer("char", workspace_name(parts, r));
    for (const Prepared& prepared : parts.regions[r].prepared)
      if (!prepared.made_earlier) pointer("char", prepared.name);
  }
  return out;
}

}  // namespace stitch::code
