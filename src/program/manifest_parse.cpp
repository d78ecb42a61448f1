#include "program/manifest.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/terminal/terminal.h"
#include "base/text.h"
#include "program/package.h"

namespace stitch {

namespace {

// Far above any model, far below what would hurt the reader.
constexpr size_t most_text = 8u << 20;
constexpr size_t most_entries = 20'000;
constexpr size_t most_name = 1'000;
constexpr int deepest = 8;
constexpr int most_dimensions = 8;
constexpr int64_t most_elements = int64_t{1} << 48;
constexpr size_t most_sizes = 8;
constexpr size_t most_borders = 16;
constexpr size_t most_values = 16;  // of a setting: what stitch/runtime/settings.h has room for
constexpr int64_t largest_value = std::numeric_limits<int32_t>::max();

// Objects are maps here, not the ordered vectors of base/json.h: a hostile one may have a million keys.
using Document = nlohmann::json;

Error wrong(const std::string& field, std::string message) {
  return at("manifest: " + field, user_error("manifest", std::move(message)));
}

struct TooDeep {};

Result<Document> parse(std::string_view text) {
  if (text.size() > most_text)
    return user_error("manifest", format("a manifest of {} bytes; {} are allowed", text.size(), most_text));
  try {
    return Document::parse(text, [](int depth, Document::parse_event_t, Document&) {
      if (depth > deepest) throw TooDeep{};
      return true;
    });
  } catch (const TooDeep&) {
    return user_error("manifest", format("the manifest is nested deeper than {} levels", deepest));
  } catch (const Document::parse_error& error) {
    return user_error("manifest", format("the manifest is not valid JSON near byte {}", error.byte));
  } catch (const Document::exception&) {
    return user_error("manifest", "the manifest is not usable JSON");
  }
}

// One object of the document, and what it is called in messages.
class Fields {
 public:
  static Result<Fields> of(const Document& value, std::string path,
                           std::initializer_list<std::string_view> known) {
    if (!value.is_object()) return wrong(path.empty() ? "the whole" : path, "an object is expected here");
    for (const auto& [key, ignored] : value.items())
      if (std::ranges::find(known, key) == known.end()) {
        std::vector<std::string> candidates(known.begin(), known.end());
        std::string shown = key.substr(0, 60);
        auto meant = nearest(shown, candidates);
        return wrong(path.empty() ? shown : path + "." + shown,
                     meant ? format("no such field; did you mean '{}'?", *meant) : "no such field");
      }
    return Fields(value, std::move(path));
  }

  std::string path(std::string_view key) const {
    return path_.empty() ? std::string(key) : format("{}.{}", path_, key);
  }
  const Document* find(const char* key) const {
    auto found = object_->find(key);
    return found == object_->end() ? nullptr : &*found;
  }

  Result<std::string> string(const char* key) const {
    const Document* value = find(key);
    if (!value) return wrong(path(key), "missing");
    return text_of(*value, path(key));
  }
  Result<std::string> string_or_empty(const char* key) const {
    return find(key) ? string(key) : Result<std::string>(std::string());
  }
  Result<const Document*> list(const char* key, size_t most = most_entries) const {
    const Document* value = find(key);
    if (!value) return wrong(path(key), "missing");
    if (!value->is_array()) return wrong(path(key), "a list is expected here");
    if (value->size() > most)
      return wrong(path(key), format("{} entries; at most {} are allowed", value->size(), most));
    return value;
  }
  Result<std::vector<std::string>> strings(const char* key) const {
    STITCH_TRY(const Document* values, list(key));
    std::vector<std::string> out;
    for (size_t i = 0; i < values->size(); ++i) {
      STITCH_TRY(std::string text, text_of((*values)[i], format("{}[{}]", path(key), i)));
      out.push_back(std::move(text));
    }
    return out;
  }
  Result<std::vector<int64_t>> integers(const char* key, int64_t most,
                                        size_t most_of_them = most_dimensions) const {
    STITCH_TRY(const Document* values, list(key, most_of_them));
    std::vector<int64_t> out;
    for (size_t i = 0; i < values->size(); ++i) {
      STITCH_TRY(int64_t value, integer_of((*values)[i], format("{}[{}]", path(key), i), most));
      out.push_back(value);
    }
    return out;
  }
  // Numbers from 0 on, or formulas of sizes: then 0, and the formula in `formulas`.
  Result<std::vector<int64_t>> sizes(const char* key, std::vector<std::string>& formulas) const {
    STITCH_TRY(const Document* values, list(key, most_dimensions));
    std::vector<int64_t> out;
    for (size_t i = 0; i < values->size(); ++i) {
      const std::string where = format("{}[{}]", path(key), i);
      const Document& value = (*values)[i];
      std::string formula;
      int64_t number = 0;
      if (value.is_string()) {
        STITCH_TRY(formula, text_of(value, where));
        if (formula.empty()) return wrong(where, "empty");
      } else {
        STITCH_TRY(number, integer_of(value, where, most_elements));
      }
      out.push_back(number);
      formulas.push_back(std::move(formula));
    }
    return out;
  }
  Result<int64_t> integer(const char* key, int64_t most) const {
    const Document* value = find(key);
    if (!value) return wrong(path(key), "missing");
    return integer_of(*value, path(key), most);
  }

 private:
  Fields(const Document& object, std::string path) : object_(&object), path_(std::move(path)) {}

  static Result<int64_t> integer_of(const Document& value, const std::string& where, int64_t most) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(most))
      return wrong(where, format("a whole number from 0 to {} is expected here", most));
    return static_cast<int64_t>(value.get<uint64_t>());
  }

  static Result<std::string> text_of(const Document& value, const std::string& where) {
    if (!value.is_string()) return wrong(where, "a text is expected here");
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > most_name)
      return wrong(where, format("{} bytes long; {} are allowed", text.size(), most_name));
    return text;
  }

  const Document* object_;
  std::string path_;
};

Result<std::string> one_of(const Fields& fields, const char* key, std::span<const std::string_view> choices) {
  STITCH_TRY(std::string text, fields.string(key));
  if (std::ranges::find(choices, text) != choices.end()) return text;
  std::vector<std::string> words(choices.begin(), choices.end());
  return wrong(fields.path(key),
               format("'{}' is none of {}", shorten(printable(text), 60), join(words, ", ")));
}

// The last element's place must be a number that can be counted with.
bool strides_fit(const Shape& shape, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] <= 1 || strides[i] == 0) continue;
    if (strides[i] > most_elements / shape[i]) return false;
    last += (shape[i] - 1) * strides[i];
    if (last > most_elements) return false;
  }
  return true;
}

Result<TensorType> parse_type(const Fields& fields, std::vector<std::string>& formulas) {
  TensorType type;
  STITCH_TRY(std::string dtype, fields.string("dtype"));
  auto parsed = parse_dtype(dtype);
  if (!parsed)
    return wrong(fields.path("dtype"),
                 format("'{}' is no dtype (f64, f32, f16, bf16, i64, i32, i8, u8, bool)",
                        shorten(printable(dtype), 60)));
  type.dtype = *parsed;
  STITCH_TRY(type.shape, fields.sizes("shape", formulas));
  if (!shape_fits(type.shape))
    return wrong(fields.path("shape"), format("{} has too many elements", text(type.shape)));
  if (fields.find("strides")) {
    STITCH_TRY(type.strides, fields.sizes("strides", formulas));
    if (type.strides.size() != type.shape.size() || !strides_fit(type.shape, type.strides))
      return wrong(fields.path("strides"),
                   format("[{}] can't be the strides of {}", join(type.strides, ","), text(type.shape)));
  }
  if (std::ranges::all_of(formulas, &std::string::empty)) formulas.clear();
  return type;
}

Result<std::vector<ManifestTensor>> parse_tensors(const Fields& document, const char* key,
                                                  std::span<const std::string_view> roles) {
  STITCH_TRY(const Document* entries, document.list(key));
  std::vector<ManifestTensor> out;
  for (size_t i = 0; i < entries->size(); ++i) {
    STITCH_TRY(Fields fields, Fields::of((*entries)[i], format("{}[{}]", key, i),
                                         {"name", "role", "dtype", "shape", "strides", "data", "target"}));
    ManifestTensor tensor;
    STITCH_TRY(tensor.name, fields.string("name"));
    if (tensor.name.empty()) return wrong(fields.path("name"), "empty");
    STITCH_TRY(tensor.role, one_of(fields, "role", roles));
    STITCH_TRY(tensor.type, parse_type(fields, tensor.formulas));
    STITCH_TRY(tensor.data, fields.string_or_empty("data"));
    STITCH_TRY(tensor.target, fields.string_or_empty("target"));
    if ((tensor.role == "update") != !tensor.target.empty())
      return wrong(fields.path("target"), "an update has a target, and nothing else does");
    out.push_back(std::move(tensor));
  }
  return out;
}

Result<std::vector<Slot>> parse_slots(const Fields& region, const char* key) {
  STITCH_TRY(const Document* entries, region.list(key));
  std::vector<Slot> out;
  for (size_t i = 0; i < entries->size(); ++i) {
    STITCH_TRY(Fields fields, Fields::of((*entries)[i], format("{}[{}]", region.path(key), i),
                                         {"value", "dtype", "shape", "order"}));
    Slot slot;
    STITCH_TRY(slot.value, fields.string("value"));
    STITCH_TRY(slot.type, parse_type(fields, slot.formulas));
    if (fields.find("order")) {
      STITCH_TRY(slot.order, fields.integers("order", most_dimensions - 1));
      std::vector<int64_t> sorted = slot.order;
      std::ranges::sort(sorted);
      bool permutation = sorted.size() == slot.type.shape.size();
      for (size_t d = 0; d < sorted.size(); ++d) permutation &= sorted[d] == static_cast<int64_t>(d);
      if (!permutation)
        return wrong(fields.path("order"), format("[{}] is no order of the {} dimensions",
                                                  join(slot.order, ","), slot.type.rank()));
    }
    out.push_back(std::move(slot));
  }
  return out;
}

// A path inside the package.
bool stays_inside(const std::string& file) {
  if (file.empty() || file.front() == '/' || file.find('\\') != std::string::npos ||
      file.find('\0') != std::string::npos)
    return false;
  auto parts = split(file, '/');
  return std::ranges::none_of(
      parts, [](const std::string& part) { return part.empty() || part == ".." || part == "."; });
}

Result<ManifestRegion> parse_region(const Document& entry, const std::string& path) {
  STITCH_TRY(Fields fields,
             Fields::of(entry, path, {"name", "file", "technique", "nodes", "reads", "writes"}));
  ManifestRegion region;
  STITCH_TRY(region.name, fields.string("name"));
  if (region.name.empty()) return wrong(fields.path("name"), "empty");
  STITCH_TRY(region.file, fields.string("file"));
  if (!stays_inside(region.file))
    return wrong(fields.path("file"),
                 format("'{}' is no file of the package", shorten(printable(region.file), 60)));
  STITCH_TRY(region.technique, fields.string_or_empty("technique"));
  STITCH_TRY(region.nodes, fields.strings("nodes"));
  STITCH_TRY(region.reads, parse_slots(fields, "reads"));
  STITCH_TRY(region.writes, parse_slots(fields, "writes"));
  return region;
}

Result<std::vector<ManifestSetting>> parse_settings(const Fields& document,
                                                    const std::vector<ManifestRegion>& regions) {
  std::vector<ManifestSetting> out;
  if (!document.find("settings")) return out;
  STITCH_TRY(const Document* entries, document.list("settings"));
  std::set<std::string_view> region_names;
  std::set<std::string> names;
  for (const ManifestRegion& region : regions) region_names.insert(region.name);
  for (size_t i = 0; i < entries->size(); ++i) {
    STITCH_TRY(Fields fields,
               Fields::of((*entries)[i], format("settings[{}]", i), {"name", "region", "values", "value"}));
    ManifestSetting setting;
    STITCH_TRY(setting.name, fields.string("name"));
    if (setting.name.empty()) return wrong(fields.path("name"), "empty");
    if (!names.insert(setting.name).second) return wrong(fields.path("name"), "there are two of this name");
    STITCH_TRY(setting.region, fields.string_or_empty("region"));
    if (!setting.region.empty() && !region_names.contains(setting.region))
      return wrong(fields.path("region"),
                   format("there is no region '{}'", shorten(printable(setting.region), 60)));
    STITCH_TRY(setting.values, fields.integers("values", largest_value, most_values));
    STITCH_TRY(setting.value, fields.integer("value", largest_value));
    if (std::ranges::find(setting.values, setting.value) == setting.values.end())
      return wrong(fields.path("value"), format("{} is none of its values", setting.value));
    if (std::set(setting.values.begin(), setting.values.end()).size() != setting.values.size())
      return wrong(fields.path("values"), "the same value twice");
    out.push_back(std::move(setting));
  }
  return out;
}

// Sizes that change from call to call, and those that all shapes have until others are set.
Result<void> parse_sizes(const Fields& document, Manifest& manifest) {
  const Document* entries = nullptr;
  Sizes example;
  if (document.find("sizes")) {
    STITCH_TRY(entries, document.list("sizes", most_sizes));
  }
  for (size_t i = 0; entries && i < entries->size(); ++i) {
    STITCH_TRY(Fields fields, Fields::of((*entries)[i], format("sizes[{}]", i),
                                         {"name", "least", "most", "multiple", "places", "example"}));
    Dimension dimension;
    STITCH_TRY(dimension.name, fields.string("name"));
    STITCH_TRY(dimension.least, fields.integer("least", largest_value));
    STITCH_TRY(dimension.most, fields.integer("most", largest_value));
    STITCH_TRY(dimension.multiple, fields.integer("multiple", largest_value));
    STITCH_TRY(const int64_t now, fields.integer("example", largest_value));
    STITCH_TRY(const Document* places, fields.list("places", most_values));
    for (const Document& place : *places) {
      const bool pair = place.is_array() && place.size() == 2 && place[0].is_number_unsigned() &&
                        place[1].is_number_unsigned();
      if (!pair || place[0].get<uint64_t>() >= manifest.signature.inputs.size() ||
          place[1].get<uint64_t>() >= manifest.signature.inputs[place[0].get<size_t>()].type.shape.size())
        return wrong(fields.path("places"), "an input and one of its dimensions are expected here");
      dimension.places.push_back({place[0].get<int>(), place[1].get<int>()});
    }
    if (dimension.places.empty()) return wrong(fields.path("places"), "no input shows this size");
    if (dimension.least < 1 || dimension.multiple < 1 || dimension.least > dimension.most)
      return wrong(fields.path("least"), format("{} is no range", text(dimension)));
    if (!example.emplace(dimension.name, now).second)
      return wrong(fields.path("name"), "there are two of this name");
    manifest.dimensions.push_back(std::move(dimension));
  }
  if (auto set = manifest.set_sizes(example); !set) return wrong("sizes", set.error().message);
  if (!document.find("borders")) return {};
  STITCH_TRY(entries, document.list("borders", most_borders));
  for (const Document& each : *entries) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_number_unsigned())
      return wrong("borders", "a formula of the sizes and a number are expected here");
    Border border{each[0].get<std::string>(), each[1].get<int64_t>()};
    if (auto size = evaluate_size(border.measure, example); !size)
      return wrong("borders", size.error().message);
    manifest.borders.push_back(std::move(border));
  }
  return {};
}

// "sm_90a": it goes into a CMakeLists.txt and to nvcc.
Result<std::string> parse_architecture(const Fields& document, const char* key) {
  STITCH_TRY(std::string text, document.string_or_empty(key));
  std::string_view digits = text;
  if (digits.starts_with("sm_")) digits.remove_prefix(3);
  if (digits.ends_with('a')) digits.remove_suffix(1);
  const bool number = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || (text.starts_with("sm_") && number && digits.size() >= 2 && digits.size() <= 3))
    return text;
  return wrong(document.path(key),
               format("'{}' is not an architecture such as sm_90a", shorten(printable(text), 60)));
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view json) {
  STITCH_TRY(Document parsed, parse(json));
  STITCH_TRY(Fields document,
             Fields::of(parsed, "",
                        {"stitch", "name", "class", "architecture", "needs", "parameters", "inputs",
                         "outputs", "regions", "libraries", "settings", "sizes", "borders"}));
  const Document* version = document.find("stitch");
  if (!version || !version->is_number_unsigned() || version->get<uint64_t>() != 1)
    return wrong("stitch", "1 is expected here: the version of the manifest");

  using Words = std::span<const std::string_view>;
  static constexpr std::array<std::string_view, 4> classes = {"strict", "default", "tf32", "half"};
  static constexpr std::array<std::string_view, 3> parameter_roles = {"parameter", "buffer", "constant"};
  static constexpr std::array<std::string_view, 3> input_roles = {"input", "state", "seed"};
  static constexpr std::array<std::string_view, 2> output_roles = {"output", "update"};

  Manifest manifest;
  STITCH_TRY(manifest.name, document.string("name"));
  STITCH_TRY(std::string numerics, one_of(document, "class", Words(classes)));
  STITCH_TRY(manifest.numerics, parse_numerics(numerics));
  STITCH_TRY(manifest.architecture, parse_architecture(document, "architecture"));
  STITCH_TRY(manifest.needs, parse_architecture(document, "needs"));
  STITCH_TRY(manifest.signature.parameters, parse_tensors(document, "parameters", Words(parameter_roles)));
  STITCH_TRY(manifest.signature.inputs, parse_tensors(document, "inputs", Words(input_roles)));
  STITCH_TRY(manifest.signature.outputs, parse_tensors(document, "outputs", Words(output_roles)));
  STITCH_TRY(const Document* regions, document.list("regions"));
  for (size_t i = 0; i < regions->size(); ++i) {
    STITCH_TRY(ManifestRegion region, parse_region((*regions)[i], format("regions[{}]", i)));
    manifest.regions.push_back(std::move(region));
  }
  STITCH_TRY(manifest.libraries, document.strings("libraries"));
  for (size_t i = 0; i < manifest.libraries.size(); ++i)
    if (!is_known_library(manifest.libraries[i]))
      return wrong(format("libraries[{}]", i), format("'{}' is none of cublas, cublasLt, cudnn",
                                                      shorten(printable(manifest.libraries[i]), 60)));
  STITCH_TRY(manifest.settings, parse_settings(document, manifest.regions));
  STITCH_CHECK(parse_sizes(document, manifest));
  return manifest;
}

}  // namespace stitch
