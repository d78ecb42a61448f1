#include "code/write_program.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "code/model_lines.h"
#include "code/names.h"
#include "code/program_parts.h"
#include "code/scaffold/scaffold.h"
#include "plan/document/document.h"
#include "plan/technique.h"
#include "program/fold.h"

namespace stitch::code {

namespace {

Slot slot_of(const ProgramParts& parts, ValueId id) {
  const Resident& resident = parts.residents.at(id);
  Slot slot{parts.graph[id].name, {resident.place.dtype, resident.place.shape, {}}, {}};
  if (resident.home == Home::scratch) slot.order = parts.plan.storage[index_of(id)].order;
  return slot;
}

std::string region_path(const ProgramParts& parts, size_t r) {
  return format("regions/{}.cu", parts.source_name(r));
}

Manifest manifest_of(const ProgramParts& parts) {
  Manifest manifest{.name = parts.graph.name, .numerics = parts.plan.numerics, .signature = parts.signature};
  manifest.architecture = parts.context.gpu.architecture.name;
  manifest.needs = "sm_80";  // __reduce_max_sync, mma.sync of 16 x 8 x 16
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    const plan::Region& region = parts.plan.regions[r];
    ManifestRegion one{parts.region_names[r],
                       region_path(parts, r),
                       std::string(parts.plan.regions[r].technique->name()),
                       {},
                       {},
                       {}};
    for (int32_t n : region.nodes) one.nodes.push_back(parts.graph[parts.graph.node(n).results[0]].name);
    for (ValueId id : parts.reads_alone(r)) one.reads.push_back(slot_of(parts, id));
    for (ValueId id : region.writes) one.writes.push_back(slot_of(parts, id));
    manifest.regions.push_back(std::move(one));
    for (const Setting& setting : parts.regions[r].settings)
      manifest.settings.push_back({setting.name, parts.region_names[r], setting.values, setting.value});
  }
  // Branches synchronise by events and lose by it: GoogleNet a tenth, while the 22 timed programs without
  // branches took 0.99 of the time (docs/results.md).
  if (parts.offers_programmatic_launches())
    manifest.settings.push_back(
        {std::string(programmatic_launches), "", {0, 1}, parts.branches() == 1 ? 1 : 0});
  for (const char* library : {"cublasLt", "cudnn"})
    if (parts.uses(library)) manifest.libraries.emplace_back(library);
  return manifest;
}

// "fc1_matmul.algorithm" is fc1_matmul_algorithm.
std::string variable_of(const ManifestSetting& setting) {
  std::string out = setting.name;
  std::ranges::replace(out, '.', '_');
  return out;
}

// The manifest and the settings' defaults: other defaults recompile only this file.
std::string manifest_source(const Manifest& manifest) {
  std::string out = "// What this program is; the tensors of the ABI, in order.\n";
  if (!manifest.settings.empty()) out += "#include \"settings.h\"\n";
  out += "#include \"stitch/program.h\"\n\n";
  if (!manifest.settings.empty()) {
    std::vector<std::string> all;
    out += "// What each may be, and what it is.\nnamespace settings {\n";
    for (const ManifestSetting& setting : manifest.settings) {
      all.push_back("&settings::" + variable_of(setting));
      out += format("stitch::Setting {}({}, {{{}}}, {});\n", variable_of(setting), quote(setting.name),
                    join(setting.values, ", "), setting.value);
    }
    out += format(
        "}}  // namespace settings\n\nint stitch_set(const char* name, int64_t value) {{\n  return "
        "stitch::set_one_of({{{}}}, name, value);\n}}\n\n",
        join(all, ", "));
  }
  return fold(out) + "const char* stitch_manifest(void) {\n  return R\"manifest(" + print_manifest(manifest) +
         ")manifest\";\n}\n";
}

// The file's computation, in the model's lines.
std::string region_comment(const ProgramParts& parts, size_t r) {
  constexpr size_t most = 8;
  const plan::Region& region = parts.plan.regions[r];
  const std::vector<std::string> lines = model_lines(parts.graph, region);
  std::string out = format("// {}: {}\n", parts.region_names[r], model_words(parts.graph, region));
  for (size_t i = 0; i < std::min(lines.size(), most); ++i) out += "//   " + lines[i] + "\n";
  if (lines.size() > most) out += format("//   and {} more lines\n", lines.size() - most);
  return out;
}

// A region's file includes only what it needs, so that changing one region doesn't recompile the others.
std::string region_file(const ProgramParts& parts, size_t r) {
  const RegionCode& region = parts.regions[r];
  std::set<std::string> own;
  for (const std::string& line : split(region.includes, '\n'))
    if (!line.empty()) own.insert(line);
  own.insert("#include \"stitch/runtime/errors.h\"");
  for (const std::string& library : region.libraries)
    own.insert(library == "cudnn" ? "#include \"stitch/runtime/cudnn.h\""
                                  : "#include \"stitch/runtime/cublaslt.h\"");
  std::string out = region_comment(parts, r) + cuda_includes(parts.dtypes[r]) + "#include <cstdint>\n\n";
  for (const std::string& line : own) out += line + "\n";
  return region.verbatim ? fold(out + "\n") + region.source : fold(out + "\n" + region.source);
}

PlanNotes notes_of(const ProgramParts& parts) {
  PlanNotes notes;
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    const plan::Region& region = parts.plan.regions[r];
    notes.regions.push_back({std::string(region.technique->idea()), model_words(parts.graph, region),
                             model_line(parts.graph, region)});
  }
  notes.host = parts.starts_kernels_itself()
                   ? "Every run launches its kernels directly: they are too few for a CUDA graph."
                   : "The whole pass is one CUDA graph, captured at the first run and replayed.";
  if (const int branches = parts.branches(); branches > 1)
    notes.host += format(" Up to {} branches of regions run concurrently.", branches);
  if (const auto constant = std::ranges::count(parts.constant, true))
    notes.host +=
        format(" {} of the regions read weights alone: they run once, in `stitch_create`.", constant);
  return notes;
}

}  // namespace

Result<PackageContents> write_program(const plan::Context& context, const plan::Plan& plan) {
  STITCH_TRY(ProgramParts parts, gather_parts(context, plan));
  PackageContents contents{.manifest = manifest_of(parts), .notes = notes_of(parts), .gpu = context.gpu.name};
  contents.plan = document_text(plan::to_json(context, plan));
  for (size_t r = 0; r < parts.regions.size(); ++r)
    if (parts.source_of[r] == r) contents.sources[region_path(parts, r)] = region_file(parts, r);
  contents.sources["regions.h"] = region_header(parts);
  contents.sources["program.cu"] = scaffold(parts);
  if (parts.has_settings()) contents.sources["settings.h"] = settings_header(parts);
  contents.sources["manifest.cu"] = manifest_source(contents.manifest);
  return contents;
}

void set_values(PackageContents& contents, const std::map<std::string, int64_t>& values) {
  for (ManifestSetting& setting : contents.manifest.settings)
    if (auto found = values.find(setting.name); found != values.end()) setting.value = found->second;
  contents.sources["manifest.cu"] = manifest_source(contents.manifest);
}

}  // namespace stitch::code
