#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/machine/machine_memory.h"
#include "base/text.h"
#include "graph/folder.h"
#include "program/fold.h"
#include "program/package.h"

namespace stitch {

namespace {

using Replacements = std::vector<std::pair<std::string_view, std::string>>;

// Each @word@ of the template by its text. What stands in a text is not looked at again.
std::string fill_in(std::string_view text, const Replacements& replacements) {
  std::string out;
  while (!text.empty()) {
    size_t at = text.find('@');
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at);
    bool found = false;
    for (const auto& [word, replacement] : replacements) {
      if (text.size() < word.size() + 2 || text.substr(1, word.size()) != word ||
          text[word.size() + 1] != '@')
        continue;
      out += replacement;
      text.remove_prefix(word.size() + 2);
      found = true;
      break;
    }
    if (found) continue;
    out += '@';
    text.remove_prefix(1);
  }
  return out;
}

// A name that CMake and C++ take.
std::string identifier(std::string_view name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "program_" + out : out;
}

// A Python string over several lines, readable as it is.
std::string python_text(std::string_view text) {
  std::string out = "'''\\\n";
  for (size_t i = 0; i < text.size(); ++i) {
    bool quote_run = text.substr(i, 3) == "'''";
    if (text[i] == '\\' || quote_run) out += '\\';
    out += text[i];
  }
  if (out.back() == '\'') out += '\n';
  return out + "'''";
}

// What has to be linked: sources of others may include more than their manifest says.
std::vector<std::string> libraries_of(const PackageContents& contents) {
  std::vector<std::string> out = contents.manifest.libraries;
  for (const auto& [path, source] : contents.sources) add_included_libraries(source, out);
  return out;
}

std::string cmake_libraries(const PackageContents& contents) {
  std::string out;
  for (const std::string& library : libraries_of(contents))
    out += library == "cudnn" ? "  find_library(CUDNN cudnn HINTS ${CUDAToolkit_LIBRARY_DIR} REQUIRED)\n"
                                "  target_link_libraries(program PRIVATE ${CUDNN})\n"
                              : format("  target_link_libraries(program PRIVATE CUDA::{})\n", library);
  return out;
}

// As CMake writes it: "sm_90a" is 90a.
std::string number_of(const std::string& architecture, const char* otherwise) {
  return architecture.empty() ? otherwise : architecture.substr(3);
}

// The example's tables: what stitch_create and stitch_run take.
std::string table(std::string_view name, const std::vector<ManifestTensor>& tensors) {
  std::string out = format("const std::vector<Described> {} = {{\n", name);
  for (const ManifestTensor& tensor : tensors) {
    std::string dtype(stitch::name(tensor.type.dtype));
    for (char& c : dtype) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    auto strides = tensor.type.strides.empty() ? contiguous_strides(tensor.type.shape) : tensor.type.strides;
    const bool has_key = tensor.role != "update" && tensor.role != "output";
    out += format("    {{{}, {}, STITCH_{}, {}, {{{}}}, {{{}}}}},\n", quote(tensor.name),
                  quote(has_key ? tensor.data : ""), dtype, tensor.type.rank(), join(tensor.type.shape, ", "),
                  join(strides, ", "));
  }
  return out + "};\n";
}

std::string tables(const Signature& signature) {
  return table("parameters", signature.parameters) + table("inputs", signature.inputs) +
         table("outputs", signature.outputs);
}

std::string tensor_rows(const Signature& signature) {
  std::string out = "| in | # | name | role | type |\n|---|---|---|---|---|\n";
  auto add = [&](std::string_view list, const std::vector<ManifestTensor>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i)
      out += format("| {} | {} | `{}` | {}{} | `{}` |\n", list, i, tensors[i].name, tensors[i].role,
                    tensors[i].target.empty() ? "" : format(" of `{}`", tensors[i].target),
                    text(tensors[i].type));
  };
  add("params", signature.parameters);
  add("in", signature.inputs);
  add("out", signature.outputs);
  return out;
}

// A cell of a table is one line without bars.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '|' ? "\\|" : std::string(1, c == '\n' ? ' ' : c);
  return out;
}

std::string region_rows(const PackageContents& contents) {
  const std::vector<ManifestRegion>& regions = contents.manifest.regions;
  if (regions.empty()) return "The program has no separate regions.\n";
  const bool told = contents.notes.regions.size() == regions.size();
  std::string out = told ? "| # | region | computes | technique | model | file |\n|---|---|---|---|---|---|\n"
                         : "| # | region | technique | file |\n|---|---|---|---|\n";
  for (size_t i = 0; i < regions.size(); ++i) {
    const ManifestRegion& region = regions[i];
    out += format("| {} | `{}` | ", i, region.name);
    if (!told) {
      out += format("{} | `{}` |\n", region.technique, region.file);
      continue;
    }
    const PlanNotes::Region& note = contents.notes.regions[i];
    const std::string line = note.line.empty() ? "" : format("`{}`", cell(note.line));
    out += format("{} | {}: {} | {} | `{}` |\n", cell(note.computes), region.technique, cell(note.idea), line,
                  region.file);
  }
  return out;
}

std::string plan_text(const PackageContents& contents) {
  const Manifest& manifest = contents.manifest;
  std::string out =
      format("{} region{} in order", manifest.regions.size(), manifest.regions.size() == 1 ? "" : "s");
  if (!contents.gpu.empty()) out += format(", planned for {}", contents.gpu);
  out += format(", in numerics class `{}`.", name(manifest.numerics));
  if (!contents.notes.host.empty()) out += " " + contents.notes.host;
  std::set<std::string> files;
  for (const ManifestRegion& region : manifest.regions) files.insert(region.file);
  if (files.size() > 1 && files.size() < manifest.regions.size())
    out += format(" Regions that differ in names alone share a kernel: there are {} files.", files.size());
  return out;
}

std::string results_text(const PackageContents& contents) {
  if (contents.results.empty())
    return "It has not been verified yet: run `stitchcuda verify` with the model's `.py` file.\n";
  std::string out = "| | |\n|---|---|\n";
  for (const auto& [what, value] : contents.results) out += format("| {} | {} |\n", cell(what), cell(value));
  return out;
}

std::string weights_text(const PackageContents& contents) {
  double bytes = 0;
  for (const auto& [key, tensor] : contents.weights) bytes += static_cast<double>(tensor.bytes.size());
  if (!contents.weights.empty())
    return format("`weights.safetensors` holds the model's weights ({}), by the names of its `state_dict()`.",
                  bytes_text(bytes));
  const bool takes =
      std::ranges::any_of(contents.manifest.signature.parameters,
                          [](const ManifestTensor& tensor) { return tensor.role != "constant"; });
  if (!takes) return "The model has no weights.";
  const std::string why = contents.weights_left_out.empty() ? "" : " (" + contents.weights_left_out + ")";
  return format(
      "The weights are not in this folder{}: bring them as `weights.safetensors`, by the names of the "
      "model's `state_dict()`.",
      why);
}

Result<std::string> read_template(const fs::path& files, const char* name) {
  return read_file(files / "templates" / name);
}

Result<void> write(const fs::path& path, std::string_view content) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed)
    return work_error("write",
                      format("{} could not be created: {}", path.parent_path().string(), failed.message()));
  return write_file(path, content);
}

// `stitch/…` of a line that includes it; else nothing.
std::string included(std::string_view line) {
  auto skip = [&](std::string_view word) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(word)) return false;
    line.remove_prefix(word.size());
    return true;
  };
  if (!skip("#") || !skip("include") || (!skip("\"") && !skip("<"))) return {};
  return line.starts_with("stitch/") ? std::string(line.substr(0, line.find_first_of("\">"))) : "";
}

// The headers of include/ that these texts include, and those that they include.
Result<std::map<std::string, std::string>> needed_headers(const fs::path& include,
                                                          std::vector<std::string> texts) {
  std::map<std::string, std::string> found;
  while (!texts.empty()) {
    const std::string text = std::move(texts.back());
    texts.pop_back();
    for (const std::string& line : split(text, '\n')) {
      const std::string path = included(line);
      if (path.empty() || found.contains(path)) continue;
      STITCH_TRY(found[path], read_file(include / path));
      texts.push_back(found[path]);
    }
  }
  return found;
}

// It can do without.
void add_library(const fs::path& library, const fs::path& folder) {
  if (library.empty()) return;
  std::error_code ignored;
  fs::create_directories(folder / "build", ignored);
  fs::copy_file(library, folder / "build" / "libprogram.so", ignored);
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& files) {
  std::vector<std::string> out;
  for (const auto& [path, ignored] : files) out.push_back(path);
  return out;
}

// What of task.json is the program's business: nothing of the machine it was made on.
Json facts_of_package(const PackageContents& contents) {
  Json out = {{"class", contents.model_class}};
  if (contents.facts && contents.facts->is_object())
    for (const char* key : {"mode", "active", "call"})
      if (contents.facts->contains(key)) out[key] = (*contents.facts)[key];
  if (!contents.modules.empty()) out["modules"] = names_of(contents.modules);
  return out;
}

// The model's mode, where it matters to what the program computes.
std::string mode_that_matters(const PackageContents& contents) {
  return mode_warning(contents.facts) ? mode_in(contents.facts) : "";
}

Result<std::string> model_new(const fs::path& files, const PackageContents& contents) {
  const Manifest& manifest = contents.manifest;
  STITCH_TRY(std::string text, read_template(files, "model_new.py"));
  // The signature in the manifest's own words.
  Manifest bare = manifest;
  bare.regions.clear();
  STITCH_TRY(Json printed, parse_json(print_manifest(bare)));
  Json signature = {
      {"parameters", printed["parameters"]}, {"inputs", printed["inputs"]}, {"outputs", printed["outputs"]}};
  return fill_in(text, {{"name", identifier(manifest.name)},
                        {"name_literal", quote(manifest.name)},
                        {"libraries", Json(libraries_of(contents)).dump()},
                        {"needs", quote(number_of(manifest.needs, ""))},
                        {"model_class", quote(contents.model_class)},
                        {"signature", python_text(signature.dump(1))},
                        {"call", python_text(facts_of_package(contents).value("call", Json()).dump())},
                        {"modules", Json(names_of(contents.modules)).dump()},
                        {"mode", quote(mode_that_matters(contents))},
                        {"task", python_text(contents.task)}});
}

bool lies_inside(const fs::path& path) {
  return !path.empty() && !path.is_absolute() && path.lexically_normal() == path && *path.begin() != "..";
}

Result<void> check(const PackageContents& contents) {
  auto bad = [](std::string message) { return user_error("package", std::move(message)); };
  if (!contents.sources.contains("program.cu")) return bad("a program needs a program.cu");
  for (const auto* files : {&contents.sources, &contents.modules})
    for (const auto& [path, ignored] : *files)
      if (!lies_inside(path)) return bad(format("'{}' is not a path inside the package", path));
  for (const ManifestTensor& parameter : contents.manifest.signature.parameters) {
    if (parameter.role != "constant" || contents.task.empty()) continue;
    bool there = false;
    for (const auto& [key, ignored] : contents.constants) there |= key == parameter.data;
    if (!there) return bad(format("the constant '{}' has no data", parameter.data));
  }
  return {};
}

std::string dump(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

Result<void> add_task(PackageContents& contents, const fs::path& task, const std::string& model_class,
                      const TaskFacts& facts) {
  STITCH_TRY(contents.task, read_file(task));
  const std::string recorded = facts && facts->is_object() ? word(*facts, "class") : "";
  const std::string& chosen = model_class.empty() ? recorded : model_class;
  if (!chosen.empty()) contents.model_class = chosen;
  contents.facts = facts;
  contents.modules.clear();
  if (!facts || !facts->is_object()) return {};
  for (const Json& path : facts->value("modules", Json::array())) {
    const std::string name = path.is_string() ? path.get<std::string>() : "";
    if (!lies_inside(name) || !name.ends_with(".py"))
      return user_error("package", format("'{}' is not a Python file in the task's folder", name));
    STITCH_TRY(contents.modules[name], read_file(task.parent_path() / name));
  }
  // Of other folders on Python's path, which no package manager installed.
  const Json elsewhere = facts->value("elsewhere", Json::object());
  for (const auto& [name, file] : elsewhere.items()) {
    if (!lies_inside(name) || !name.ends_with(".py") || !file.is_string())
      return user_error("package", format("'{}' is not a Python module", name));
    STITCH_TRY(contents.modules[name], read_file(file.get<std::string>()));
  }
  return {};
}

Result<Published> write_package(const fs::path& folder, const PackageContents& contents, Overwrite overwrite,
                                const std::string& beside) {
  STITCH_CHECK(check(contents));
  const Manifest& manifest = contents.manifest;
  STITCH_TRY(fs::path files, find_program_files());
  const fs::path place = beside.empty() ? folder : free_place_beside(folder);
  STITCH_TRY(OutputFolder draft, OutputFolder::create(place, overwrite));
  const fs::path& out = draft.path();

  for (const auto& [path, content] : contents.sources) STITCH_CHECK(write(out / path, content));
  STITCH_CHECK(write(out / "manifest.json", print_manifest(manifest)));
  if (!contents.plan.empty()) STITCH_CHECK(write(out / plan_file, contents.plan));

  Replacements replacements = {
      {"name", identifier(manifest.name)},
      {"libraries", cmake_libraries(contents)},
      {"tables", tables(manifest.signature)},
      {"class", std::string(name(manifest.numerics))},
      {"tensors", tensor_rows(manifest.signature)},
      {"regions", region_rows(contents)},
      {"plan", plan_text(contents)},
      {"title", manifest.name},
      {"architecture",
       number_of(contents.architecture.empty() ? manifest.architecture : contents.architecture, "90a")},
      {"needs", number_of(manifest.needs, "0")}};
  replacements.push_back({"results", results_text(contents)});
  replacements.push_back({"weights", weights_text(contents)});
  replacements.push_back(
      {"weights_or_not", contents.weights.empty() ? "made-up weights" : "the model's weights"});
  std::string rows;
  if (!contents.plan.empty())
    rows +=
        "| `plan.json` | the plan it was written from: regions, techniques, knobs, estimated times; "
        "`stitchcuda optimize --plan` takes it back, edited or not |\n";
  if (!contents.weights.empty()) rows += "| `weights.safetensors` | the model's weights |\n";
  if (!contents.results.empty())
    rows +=
        "| `verdict.json`, `ledger.json`, `receipt.json` | how it was judged, where its speed comes from, "
        "and the "
        "record that `stitchcuda receipt check` runs again |\n";
  if (!contents.task.empty())
    rows +=
        "| `model_new.py` | the program as a PyTorch module (KernelBench's `ModelNew`) |\n"
        "| `task.json` | of the model: its mode, how it is called and what it returns |\n";
  if (!contents.modules.empty())
    rows += "| `modules/` | what the model's source imports from its own folder |\n";
  if (!manifest.settings.empty())
    rows += "| `settings.h`, `manifest.cu` | numbers that `stitch_set` may change, and what they are |\n";
  if (!contents.constants.empty())
    rows += "| `constants.safetensors` | tensors that the model's constructor does not make |\n";
  replacements.push_back({"rows", rows});
  std::vector<std::string> texts;
  for (const auto& [path, content] : contents.sources) texts.push_back(content);
  const std::string config = format("cmake/{}Config.cmake", identifier(manifest.name));
  for (const auto& [name, place] : std::initializer_list<std::pair<const char*, std::string>>{
           {"CMakeLists.txt", "CMakeLists.txt"},
           {"cmake/Config.cmake", config},
           {"README.md", "README.md"},
           {"example/main.cpp", "example/main.cpp"},
           {"example/find_package/CMakeLists.txt", "example/find_package/CMakeLists.txt"}}) {
    STITCH_TRY(std::string text, read_template(files, name));
    const std::string filled = fill_in(text, replacements);
    texts.push_back(fs::path(name).extension() == ".cpp" ? fold(filled) : filled);
    STITCH_CHECK(write(out / place, texts.back()));
  }
  if (contents.facts || !contents.task.empty())
    STITCH_CHECK(write(out / task_file, dump(facts_of_package(contents))));
  STITCH_TRY(auto headers, needed_headers(files / "include", texts));
  for (const auto& [path, content] : headers) STITCH_CHECK(write(out / "include" / path, content));
  if (!contents.constants.empty())
    STITCH_CHECK(write_safetensors(out / "constants.safetensors", contents.constants));
  if (!contents.weights.empty()) {
    int64_t bytes = 0;
    for (const auto& [key, tensor] : contents.weights) bytes += std::ssize(tensor.bytes);
    STITCH_CHECK(check_free_space(out, bytes));
    STITCH_CHECK(write_safetensors(out / "weights.safetensors", contents.weights));
  }
  if (!contents.task.empty()) {
    STITCH_TRY(std::string text, model_new(files, contents));
    STITCH_CHECK(write(out / "model_new.py", text));
    for (const auto& [path, content] : contents.modules) STITCH_CHECK(write(out / "modules" / path, content));
  }

  // What was written is what will be read.
  STITCH_TRY(Package written, load_package(out));
  if (written.manifest != manifest)
    return user_error("package", "the manifest in the sources differs from the package's");
  add_library(contents.library, out);
  for (const auto& [fact, value] : contents.record) draft.note(fact, value);
  STITCH_TRY(Published published, draft.publish());
  if (published.beside.empty()) published.beside = beside;
  return published;
}

}  // namespace stitch
