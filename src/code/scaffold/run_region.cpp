// stitch_run_region: runs one region, for the Verifier.
#include <algorithm>

#include "base/text.h"
#include "code/names.h"
#include "code/scaffold/scaffold.h"
#include "plan/technique.h"

namespace stitch::code {

namespace {

// In memory order, outermost dimension first.
std::string contract_of(const ProgramParts& parts, ValueId id) {
  const Resident& resident = parts.residents.at(id);
  const Place& place = resident.place;
  Shape shape = place.shape;
  std::vector<int64_t> strides = place.strides;
  if (resident.home == Home::scratch) {
    const std::vector<int64_t>& order = parts.plan.storage[index_of(id)].order;
    for (size_t d = 0; d < order.size(); ++d) {
      shape[d] = place.shape[static_cast<size_t>(order[d])];
      strides[d] = place.strides[static_cast<size_t>(order[d])];
    }
  }
  return contract(parts.graph[id].name, place.dtype, shape, strides);
}

std::string contracts_of(const ProgramParts& parts, const std::vector<ValueId>& ids) {
  std::vector<std::string> each;
  for (ValueId id : ids) each.push_back(contract_of(parts, id));
  return "stitch::contracts(" + join(each, ", ") + ")";
}

std::string one_region(const ProgramParts& parts, size_t r) {
  const plan::Region& region = parts.plan.regions[r];
  const std::vector<ValueId> reads = parts.reads_alone(r);
  auto locate = [&](const std::string& name) -> std::string {
    for (size_t i = 0; i < reads.size(); ++i)
      if (const Resident& resident = parts.residents.at(reads[i]); resident.name == name)
        return format("stitch::data<const {}>(reads[{}])", element_type(resident.place.dtype), i);
    for (size_t i = 0; i < region.writes.size(); ++i)
      if (const Resident& resident = parts.residents.at(region.writes[i]); resident.name == name)
        return format("stitch::data<{}>(writes[{}])", element_type(resident.place.dtype), i);
    return (parts.takes_sizes() ? "pass." : "program->") + name;
  };
  std::string out =
      format("    case {}: {{  // {}, by {}\n", r, parts.region_names[r], region.technique->name());
  const char* known = parts.takes_sizes() ? "const" : "constexpr";
  out += format("      {} auto takes = {};\n", known, contracts_of(parts, reads));
  out += format("      {} auto gives = {};\n", known, contracts_of(parts, region.writes));
  out += "      auto enqueue = [&](Tensors reads, Tensors writes, cudaStream_t on) {\n";
  out += "        (void)reads, (void)writes;\n";
  for (const std::string& call : preparing_calls(parts, r, locate, "on", true))
    out += format("        STITCH_OK_OR_RETURN({});\n", call);
  out += format("        return {};\n      }};\n", region_call(parts, r, locate, "on"));
  return out +
         "      return stitch::run_region(program, takes, in, n_in, gives, out, n_out, stream, enqueue);\n"
         "    }\n";
}

}  // namespace

std::string run_region_section(const ProgramParts& parts) {
  std::string out =
      "// For a check of each region alone; stitch_run needs none of it.\n"
      "int stitch_run_region(StitchProgram* program, int region, const StitchTensor* in, int n_in, "
      "StitchTensor* out,\n"
      "                      int n_out, void* stream) {\n"
      "  using Tensors = const StitchTensor*;\n";
  if (parts.takes_sizes())
    out +=
        "  const Sizes sizes = settings::sizes_of_regions;\n"
        "  return stitch::with_pass(program, sizes, [&](Pass& pass) -> int {\n  (void)pass;\n";
  out += "  switch (region) {\n";
  for (size_t r = 0; r < parts.regions.size(); ++r) out += one_region(parts, r);
  return out + format("    default:\n      return stitch::no_such_region(region, {});\n  }}\n{}}}\n",
                      parts.regions.size(), parts.takes_sizes() ? "  });\n" : "");
}

}  // namespace stitch::code
