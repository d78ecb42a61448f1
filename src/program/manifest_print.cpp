#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "program/manifest.h"

namespace stitch {

namespace {

// One line, or several where it would be too long: broken behind commas.
std::string line(const Json& json, size_t indent = 0) {
  constexpr size_t columns = 110;
  const std::string text = line_text(json);
  std::string out;
  size_t column = indent;
  bool quoted = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;  // behind the next comma between entries
    for (bool found = false; end < text.size() && !found; ++end) {
      if (text[end] == '\\')
        ++end;
      else if (text[end] == '"')
        quoted = !quoted;
      else
        found = text[end] == ',' && !quoted;
    }
    if (column + end - at > columns - 1 && column > indent + 1) {
      out += "\n" + std::string(indent + 1, ' ');
      column = indent + 1;
    }
    out += text.substr(at, end - at);
    column += end - at;
    at = end;
  }
  return out;
}

// Numbers, and formulas in place of those that depend on a size.
Json numbers(const std::vector<int64_t>& values, const std::vector<std::string>& formulas, size_t from) {
  Json out = Json::array();
  for (size_t i = 0; i < values.size(); ++i)
    if (from + i < formulas.size() && !formulas[from + i].empty())
      out.push_back(formulas[from + i]);
    else
      out.push_back(values[i]);
  return out;
}

template <class Of>
void add_type(Json& json, const Of& of) {
  json["dtype"] = name(of.type.dtype);
  json["shape"] = numbers(of.type.shape, of.formulas, 0);
  if (!of.type.strides.empty()) json["strides"] = numbers(of.type.strides, of.formulas, of.type.shape.size());
}

std::string print(const ManifestTensor& tensor) {
  Json json = {{"name", tensor.name}, {"role", tensor.role}};
  add_type(json, tensor);
  if (!tensor.data.empty()) json["data"] = tensor.data;
  if (!tensor.target.empty()) json["target"] = tensor.target;
  return line(json, 8);
}

std::string print(const Slot& slot) {
  Json json = {{"value", slot.value}};
  add_type(json, slot);
  if (!slot.order.empty()) json["order"] = slot.order;
  return line(json, 8);
}

std::string print(const ManifestSetting& setting) {
  Json json = {{"name", setting.name}};
  if (!setting.region.empty()) json["region"] = setting.region;
  json.update(Json{{"values", setting.values}, {"value", setting.value}});
  return line(json, 8);
}

std::string print(const Dimension& dimension, int64_t now) {
  Json places = Json::array();
  for (const Dimension::Place& place : dimension.places) places.push_back({place.input, place.dim});
  return line({{"name", dimension.name},
               {"least", dimension.least},
               {"most", dimension.most},
               {"multiple", dimension.multiple},
               {"places", places},
               {"example", now}},
              8);
}

std::string print(const ManifestRegion& region);

// An entry a line.
template <class T>
std::string print_list(const std::vector<T>& entries, const std::string& indent) {
  if (entries.empty()) return "[]";
  std::string out = "[";
  for (size_t i = 0; i < entries.size(); ++i) out += (i ? ",\n" : "\n") + indent + "  " + print(entries[i]);
  return out + "\n" + indent + "]";
}

std::string print(const ManifestRegion& region) {
  const std::string indent = "      ";
  return "{\n" + indent + "\"name\": " + line(region.name) + ",\n" + indent +
         "\"file\": " + line(region.file) + ",\n" + indent + "\"technique\": " + line(region.technique) +
         ",\n" + indent + "\"nodes\": " + line(region.nodes, indent.size() + 9) + ",\n" + indent +
         "\"reads\": " + print_list(region.reads, indent) + ",\n" + indent +
         "\"writes\": " + print_list(region.writes, indent) + "\n    }";
}

std::string print_sizes(const Manifest& manifest) {
  std::string out;
  for (const Dimension& each : manifest.dimensions)
    out += (out.empty() ? ",\n  \"sizes\": [\n    " : ",\n    ") + print(each, manifest.sizes.at(each.name));
  if (!out.empty()) out += "\n  ]";
  std::vector<std::string> borders;
  for (const Border& each : manifest.borders)
    borders.push_back(format("[{}, {}]", line(each.measure), each.most));
  return borders.empty() ? out : out + format(",\n  \"borders\": [{}]", join(borders, ", "));
}

}  // namespace

std::string print_manifest(const Manifest& manifest) {
  const std::string indent = "  ";
  auto optional = [](const char* key, const std::string& text) {
    return text.empty() ? "" : format(",\n  \"{}\": {}", key, line(text));
  };
  return "{\n  \"stitch\": 1,\n  \"name\": " + line(manifest.name) +
         ",\n  \"class\": " + line(std::string(name(manifest.numerics))) +
         optional("architecture", manifest.architecture) + optional("needs", manifest.needs) +
         print_sizes(manifest) + ",\n  \"parameters\": " + print_list(manifest.signature.parameters, indent) +
         ",\n  \"inputs\": " + print_list(manifest.signature.inputs, indent) +
         ",\n  \"outputs\": " + print_list(manifest.signature.outputs, indent) +
         ",\n  \"regions\": " + print_list(manifest.regions, indent) +
         ",\n  \"libraries\": " + line(manifest.libraries) +
         (manifest.settings.empty() ? "" : ",\n  \"settings\": " + print_list(manifest.settings, indent)) +
         "\n}\n";
}

}  // namespace stitch
