#include <nlohmann/json.hpp>

#include "base/json.h"
#include "program/manifest.h"

namespace stitch {

namespace {

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void add_type(Json& json, const TensorType& type) {
  json["dtype"] = name(type.dtype);
  json["shape"] = type.shape;
  if (!type.strides.empty()) json["strides"] = type.strides;
}

std::string print(const ManifestTensor& tensor) {
  Json json = {{"name", tensor.name}, {"role", tensor.role}};
  add_type(json, tensor.type);
  if (!tensor.data.empty()) json["data"] = tensor.data;
  if (!tensor.target.empty()) json["target"] = tensor.target;
  return line(json);
}

std::string print(const Slot& slot) {
  Json json = {{"value", slot.value}};
  add_type(json, slot.type);
  if (!slot.order.empty()) json["order"] = slot.order;
  return line(json);
}

std::string print(const ManifestSetting& setting) {
  Json json = {{"name", setting.name}};
  if (!setting.region.empty()) json["region"] = setting.region;
  json.update(Json{{"values", setting.values}, {"value", setting.value}});
  return line(json);
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
         ",\n" + indent + "\"nodes\": " + line(region.nodes) + ",\n" + indent +
         "\"reads\": " + print_list(region.reads, indent) + ",\n" + indent +
         "\"writes\": " + print_list(region.writes, indent) + "\n    }";
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
         ",\n  \"parameters\": " + print_list(manifest.signature.parameters, indent) +
         ",\n  \"inputs\": " + print_list(manifest.signature.inputs, indent) +
         ",\n  \"outputs\": " + print_list(manifest.signature.outputs, indent) +
         ",\n  \"regions\": " + print_list(manifest.regions, indent) +
         ",\n  \"libraries\": " + line(manifest.libraries) +
         (manifest.settings.empty() ? "" : ",\n  \"settings\": " + print_list(manifest.settings, indent)) +
         "\n}\n";
}

}  // namespace stitch
