#include "code/write_program.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/family/sized_region.h"
#include "code/family/unify.h"
#include "code/model_lines.h"
#include "code/names.h"
#include "code/program_parts.h"
#include "code/scaffold/scaffold.h"
#include "plan/buckets.h"
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
  const bool sized = !manifest.dimensions.empty();
  if (!manifest.settings.empty()) out += "#include \"settings.h\"\n";
  if (sized) out += "#include \"sizes.h\"\n#include \"stitch/runtime/settings.h\"\n";
  out += "#include \"stitch/program.h\"\n\n";
  if (sized) {
    std::vector<std::string> example;
    for (const Dimension& each : manifest.dimensions)
      example.push_back(std::to_string(manifest.sizes.at(each.name)));
    out += format("Sizes settings::sizes_of_regions = {{{}}};\n\n", join(example, ", "));
  }
  std::string set;
  if (!manifest.settings.empty()) {
    std::vector<std::string> all;
    out += "// What each may be, and what it is.\nnamespace settings {\n";
    for (const ManifestSetting& setting : manifest.settings) {
      all.push_back("&settings::" + variable_of(setting));
      out += format("stitch::Setting {}({}, {{{}}}, {});\n", variable_of(setting), quote(setting.name),
                    join(setting.values, ", "), setting.value);
    }
    out += "}  // namespace settings\n\n";
    set = format("stitch::set_one_of({{{}}}, name, value)", join(all, ", "));
  }
  if (sized)
    set =
        "stitch::names_size(name) ? stitch::set_size(size_rules, settings::sizes_of_regions, name, value)\n"
        "                                  : " +
        (set.empty() ? "stitch::set_one_of({}, name, value)" : set);
  if (!set.empty())
    out += format("int stitch_set(const char* name, int64_t value) {{\n  return {};\n}}\n\n", set);
  out = fold(out);
  return out + "const char* stitch_manifest(void) {\n  return R\"manifest(" + print_manifest(manifest) +
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
  if (parts.takes_sizes()) out += "\n#include \"../sizes.h\"\n";
  return (region.verbatim ? fold(out + "\n") : out + "\n") + region.source;
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

// The files of a program besides its manifest, not folded; what a user wrote stays as it is.
std::map<std::string, std::string> sources_of(const ProgramParts& parts) {
  std::map<std::string, std::string> out;
  for (size_t r = 0; r < parts.regions.size(); ++r)
    if (parts.source_of[r] == r) out[region_path(parts, r)] = region_file(parts, r);
  out["regions.h"] = region_header(parts);
  out["program.cu"] = scaffold(parts);
  if (parts.has_settings()) out["settings.h"] = settings_header(parts);
  return out;
}

std::set<std::string> written_by_hand(const ProgramParts& parts) {
  std::set<std::string> out;
  for (size_t r = 0; r < parts.regions.size(); ++r)
    if (parts.regions[r].verbatim) out.insert(region_path(parts, r));
  return out;
}

// Shapes as formulas of the sizes, from the shapes at each.
Result<void> add_formulas(Manifest& manifest, std::vector<Manifest>& all, const SizeTable& table) {
  std::vector<std::vector<SizedType>> types;
  for (Manifest& each : all) types.push_back(sized_types(each));
  for (size_t t = 0; t < types[0].size(); ++t) {
    const SizedType own = sized_types(manifest)[t];
    auto formulas = [&](auto of, size_t d) -> Result<std::string> {
      std::vector<int64_t> values;
      for (const auto& each : types) values.push_back(of(each[t])[d]);
      if (std::ranges::all_of(values, [&](int64_t each) { return each == values[0]; })) return std::string();
      if (auto formula = table.formula(values, "")) return *formula;
      return user_error("sizes", format("a shape of '{}' is no formula of the sizes: {} among them", own.name,
                                        text(*own.type)));
    };
    for (const bool of_strides : {false, true}) {
      auto of = [&](const SizedType& each) -> const std::vector<int64_t>& {
        return of_strides ? each.type->strides : each.type->shape;
      };
      for (size_t d = 0; d < of(own).size(); ++d) {
        STITCH_TRY(std::string formula, formulas(of, d));
        own.formulas->push_back(std::move(formula));
      }
    }
    if (std::ranges::all_of(*own.formulas, &std::string::empty)) own.formulas->clear();
  }
  return {};
}

// The program at the plan's sizes and at others, made one.
Result<PackageContents> write_for_sizes(const plan::Context& context, const plan::Plan& plan) {
  const std::vector<plan::Context>& all = context.at_sizes();
  const std::shared_ptr<const SizeTable> table = size_table(context.instances);
  std::vector<std::map<std::string, std::string>> sources;
  std::vector<Manifest> manifests;
  PackageContents contents{.gpu = context.gpu.name};
  for (const Dimension& each : context.instances->dimensions)
    if (is_keyword(each.name))
      return user_error("sizes", format("'{}' is a word of C++ and no name for a size", each.name),
                        "name it otherwise");
  SizedRegions sized;
  for (const plan::Region& region : plan.regions) {
    STITCH_TRY(sized.writing[region.name],
               writing_for_all_sizes(technique_of(region), context, plan, region));
  }
  for (const plan::Context& each : all) {
    STITCH_TRY(const ProgramParts parts, gather_parts(each, plan, &sized));
    sources.push_back(sources_of(parts));
    manifests.push_back(manifest_of(parts));
    if (&each == &all.front()) contents.notes = notes_of(parts);
    if (sources.back().size() != sources.front().size())
      return user_error("sizes", "regions share their code at some sizes and not at others");
  }
  for (const auto& [path, text] : sources.front()) {
    std::vector<std::string> texts;
    for (const auto& each : sources) {
      const auto found = each.find(path);
      if (found == each.end()) return user_error("sizes", format("{} is written at some sizes only", path));
      texts.push_back(found->second);
    }
    auto one = unify(*table, texts);
    if (!one) return at(path, one.error());
    contents.sources[path] = fold(*one);
  }
  contents.sources["sizes.h"] = fold(sizes_header(*context.instances));
  contents.manifest = manifests.front();
  contents.manifest.dimensions = context.instances->dimensions;
  contents.manifest.borders = plan::borders_of(plan);
  STITCH_CHECK(add_formulas(contents.manifest, manifests, *table));
  STITCH_CHECK(contents.manifest.set_sizes(context.instances->example));
  return contents;
}

}  // namespace

Result<PackageContents> write_program(const plan::Context& context, const plan::Plan& plan) {
  PackageContents contents;
  if (context.takes_sizes()) {
    STITCH_TRY(contents, write_for_sizes(context, plan));
  } else {
    STITCH_TRY(ProgramParts parts, gather_parts(context, plan));
    contents = {.manifest = manifest_of(parts), .notes = notes_of(parts), .gpu = context.gpu.name};
    contents.sources = sources_of(parts);
    const std::set<std::string> kept = written_by_hand(parts);
    for (auto& [path, text] : contents.sources)
      if (!kept.contains(path)) text = fold(text);
  }
  contents.plan = document_text(plan::to_json(context, plan));
  contents.sources["manifest.cu"] = manifest_source(contents.manifest);
  return contents;
}

void set_values(PackageContents& contents, const std::map<std::string, int64_t>& values) {
  for (ManifestSetting& setting : contents.manifest.settings)
    if (auto found = values.find(setting.name); found != values.end()) setting.value = found->second;
  contents.sources["manifest.cu"] = manifest_source(contents.manifest);
}

}  // namespace stitch::code
