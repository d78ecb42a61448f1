// StitchProgram::create: memory, weights, members, and everything that is the same in every run.
#include <algorithm>

#include "base/text.h"
#include "code/names.h"
#include "code/scaffold/scaffold.h"

namespace stitch::code {

namespace {

std::string placed(const std::string& name, int64_t offset, int64_t count) {
  return format("    STITCH_OK_OR_RETURN(arena.place({}, {}, {}, &{}));\n", quote(name), offset, count, name);
}

// By a region that packs it, or that runs only at create.
bool is_read(const ProgramParts& parts, const std::string& weight) {
  return std::ranges::any_of(parts.regions, [&](const RegionCode& region) {
    if (std::ranges::count(region.arguments, weight) > 0) return true;
    return std::ranges::any_of(region.packed, [&](const Packed& packed) {
      return packed.fill && std::ranges::count(packed.fill->arguments, weight) > 0;
    });
  });
}

std::string place_weights(const ProgramParts& parts, const KeptMemory& memory) {
  std::string out;
  for (const Resident* weight : memory.weights) {
    const std::string_view type = element_type(weight->place.dtype);
    const int64_t count = weight->bytes / size_of(weight->place.dtype);
    if (memory.keeps(*weight)) {
      out += placed(weight->name, memory.offsets.at(weight->name), count);
      out += format("    STITCH_OK_OR_RETURN(stitch::copy_weight({}, params[{}], {}));\n", weight->name,
                    weight->index, count);
    } else if (is_read(parts, weight->name)) {
      out += format("    const {}* {} = stitch::data<const {}>(params[{}]);\n", type, weight->name, type,
                    weight->index);
    }
  }
  return out;
}

// Of a program of many sizes, a pass has the members and the memory of regions that runs compute.
std::string create_region(const ProgramParts& parts, const KeptMemory& memory, size_t r) {
  const RegionCode& region = parts.regions[r];
  std::string out;
  if (parts.workspace_at[r] >= 0)
    out += placed(workspace_name(parts, r), parts.workspace_at[r], region.workspace_bytes);
  for (const Prepared& prepared : region.prepared)
    if (!prepared.made_earlier && parts.prepared_at.at(prepared.name) >= 0)
      out += placed(prepared.name, parts.prepared_at.at(prepared.name), prepared.bytes);
  for (const Packed& packed : region.packed) {
    if (!packed.same_as.empty()) {
      out += format("    {} = {};  // packed already\n", packed.name, packed.same_as);
      continue;
    }
    out += placed(packed.name, memory.offsets.at(packed.name), packed.elements);
    if (packed.fill)
      out += format("    STITCH_OK_OR_RETURN({}({}, nullptr));\n", packed.fill->function,
                    join(packed.fill->arguments, ", "));
  }
  return parts.constant[r] || !parts.takes_sizes() ? out + create_members(region) : out;
}

}  // namespace

std::string create_members(const RegionCode& region) {
  std::string out;
  for (const Member& member : region.members)
    for (const std::string& line : split(member.create, '\n'))
      if (!line.empty()) out += "    " + line + "\n";
  return out;
}

std::string settle_members(const ProgramParts& parts) {
  std::string out;
  const bool settles = std::ranges::any_of(parts.regions, [](const RegionCode& region) {
    return std::ranges::any_of(region.members, &Member::is_settled);
  });
  for (const Handle& handle : handles(parts))
    if (handle.library == Handle::cudnn && settles)
      out += format("    STITCH_OK_OR_RETURN({}.settle());\n", handle.name);
  return out;
}

std::string create_section(const ProgramParts& parts, const KeptMemory& memory) {
  std::string out = "  StitchStatus create(const StitchTensor* params) {\n";
  if (memory.weights.empty()) out += "    (void)params;\n";
  if (parts.takes_sizes())
    out += "    const Sizes sizes{};  // nothing that is made here depends on them\n    (void)sizes;\n";
  else if (!parts.starts_kernels_itself())
    out += "    STITCH_OK_OR_RETURN(graphs.create());\n";
  out += "    STITCH_OK_OR_RETURN(arena.allocate(arena_bytes));\n";
  if (parts.branches() > 1) out += "    STITCH_OK_OR_RETURN(branches.create());\n";
  for (const Handle& handle : handles(parts))
    out += format("    STITCH_OK_OR_RETURN({}.create());\n", handle.name);
  for (size_t i = 0; i < parts.scratch.size(); ++i) {
    const Resident& resident = parts.residents.at(parts.scratch[i]);
    if (parts.layout.offsets[i] < 0) continue;  // of a pass
    out += placed(resident.name, parts.layout.offsets[i], resident.bytes / size_of(resident.place.dtype));
  }
  out += place_weights(parts, memory);
  // Values computed from weights alone may be packed by the next region.
  for (size_t r : parts.creation) {
    out += create_region(parts, memory, r);
    if (parts.constant[r]) {
      auto as_it_is = [](const std::string& name) { return name; };
      for (const std::string& call : preparing_calls(parts, r, as_it_is, "nullptr", false))
        out += format("    STITCH_OK_OR_RETURN({});  // the same in every run\n", call);
      out += format("    STITCH_OK_OR_RETURN({});  // the same in every run\n",
                    region_call(parts, r, as_it_is, "nullptr"));
    }
  }
  out += settle_members(parts);
  return out + "    return STITCH_OK;\n  }\n";
}

}  // namespace stitch::code
