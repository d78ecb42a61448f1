// program.cu and sizes.h of a program for ranges of sizes: weights and library handles are shared, and a pass
// has what depends on the sizes of a call.
#include <algorithm>

#include "base/text.h"
#include "code/names.h"
#include "code/scaffold/scaffold.h"

namespace stitch::code {

namespace {

const char* const run =
    R"(  StitchStatus run(const StitchTensor* in, int n_in, const StitchTensor* out, int n_out, cudaStream_t caller) {
    return graphs.run(in, n_in, out, n_out, caller, [&](cudaStream_t stream) { return enqueue(in, out, stream); });
  }
)";

const char* const exports =
    R"(int stitch_create(const StitchTensor* params, int count, int device, StitchProgram** out) {
  return stitch::create_program(parameters, params, count, device, out);
}
int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in, StitchTensor* out, int n_out,
               void* stream) {
  return stitch::run_at_sizes<Sizes>(program, size_rules, inputs, in, n_in, outputs, out, n_out, stream);
}
void stitch_destroy(StitchProgram* program) { stitch::destroy_program(program); }
const char* stitch_last_error(void) { return stitch::last_error(); }

)";

// What a region's code finds in a pass under its own name.
std::string references(const ProgramParts& parts, const KeptMemory& memory) {
  std::string out;
  for (const SharedMember& each : shared_members(parts))
    out += each.value.empty() ? format("  {0}& {1} = shared.{1};\n", each.type, each.name)
                              : format("  {0} {1} = shared.{1};\n", each.type, each.name);
  Lines residents;
  for (const Resident* weight : memory.weights)
    if (memory.keeps(*weight)) add_pointer(residents, *weight, "shared." + weight->name);
  for (size_t i = 0; i < parts.scratch.size(); ++i)
    if (const Resident& each = parts.residents.at(parts.scratch[i]); parts.layout.offsets[i] >= 0)
      add_pointer(residents, each, "shared." + each.name);
  out += residents.text();
  auto pointer = [&](std::string_view type, const std::string& name) {
    out += format("  {0}* {1} = shared.{1};\n", type, name);
  };
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    for (const Packed& packed : parts.regions[r].packed) pointer(packed.type, packed.name);
    if (!parts.constant[r]) continue;
    for (const Member& member : parts.regions[r].members)
      out += format("  {0}& {1} = shared.{1};\n", member.type, member.name);
    if (parts.workspace_at[r] >= 0) pointer("char", workspace_name(parts, r));
    for (const Prepared& prepared : parts.regions[r].prepared)
      if (!prepared.made_earlier) pointer("char", prepared.name);
  }
  return out;
}

std::string pass_section(const ProgramParts& parts, const KeptMemory& memory) {
  std::string out =
      "// One forward pass at given sizes.\nstruct Pass {\n  Shared& shared;\n  const Sizes sizes;\n"
      "  stitch::GraphCache graphs;\n" +
      references(parts, memory);
  for (const Need& need : parts.needs) out += format("  {}* {} = nullptr;\n", need.type, need.pointer);
  for (size_t r = 0; r < parts.regions.size(); ++r)
    if (!parts.constant[r])
      for (const Member& member : parts.regions[r].members)
        out += format("  {} {};\n", member.type, member.name);
  out += "\n  Pass(Shared& by, const Sizes& of) : shared(by), sizes(of) {}\n\n  StitchStatus create() {\n";
  out += "    STITCH_OK_OR_RETURN(graphs.create());\n";
  for (const Handle& handle : handles(parts))
    if (handle.library == Handle::cudnn) out += format("    {}.begin_pass();\n", handle.name);
  for (size_t r : parts.creation)
    if (!parts.constant[r]) out += create_members(parts.regions[r]);
  out += settle_members(parts) + "    return STITCH_OK;\n  }\n\n";
  out +=
      "  // Scratch memory: bytes, and the first and last region that needs them.\n"
      "  std::vector<stitch::Need> needs() const {\n    return {\n";
  for (const Need& need : parts.needs)
    out += format("        {{{}, {}, {}}},  // {}\n", need.bytes, need.first, need.last, need.pointer);
  out +=
      "    };\n  }\n  void place(char* memory, const std::vector<size_t>& offsets) {\n"
      "    (void)memory, (void)offsets;\n";
  for (size_t i = 0; i < parts.needs.size(); ++i)
    out += format("    {} = reinterpret_cast<{}*>(memory + offsets[{}]);\n", parts.needs[i].pointer,
                  parts.needs[i].type, i);
  return out + "  }\n\n" + enqueue_section(parts) + run + "};\n\n";
}

std::string program_section(const ProgramParts& parts) {
  std::string out =
      "struct StitchProgram : Shared {\n  stitch::Passes<Shared, Pass, Sizes> passes;\n\n"
      "  // Grows when an algorithm needs more: graphs hold its address.\n"
      "  size_t library_bytes() const { return 0";
  for (const Handle& handle : handles(parts)) out += format(" + {}.workspace.bytes()", handle.name);
  return out + "; }\n};\n\n";
}

}  // namespace

std::string sized_program(const ProgramParts& parts, const KeptMemory& memory) {
  return format("// What is the same at all sizes.\nstruct Shared {{\n{}\n{}}};\n\n",
                members_section(parts, memory), create_section(parts, memory)) +
         pass_section(parts, memory) + program_section(parts) + exports + run_region_section(parts);
}

std::string sizes_header(const Instances& instances) {
  std::string out =
      "// Sizes that change from call to call, where a call shows them, and what they may be.\n#pragma "
      "once\n\n"
      "#include \"stitch/runtime/sizes.h\"\n\nstruct Sizes {\n";
  for (const Dimension& each : instances.dimensions) out += format("  int {};\n", each.name);
  out +=
      "};\n\n// Name, least, most, multiples of; then the inputs and their dimensions.\n"
      "constexpr stitch::SizeRule<Sizes> size_rules[] = {\n";
  for (const Dimension& each : instances.dimensions) {
    std::vector<std::string> places;
    for (const Dimension::Place& place : each.places)
      places.push_back(format("{{{}, {}}}", place.input, place.dim));
    out += format("    {{\"{0}\", &Sizes::{0}, {1}, {2}, {3}, {{{4}}}}},\n", each.name, each.least, each.most,
                  each.multiple, join(places, ", "));
  }
  return out +
         "};\n\n// Of stitch_run_region: stitch_set(\"sizes.NAME\", value).\n"
         "namespace settings {\nextern Sizes sizes_of_regions;\n}\n";
}

}  // namespace stitch::code
