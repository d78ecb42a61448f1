#include "base/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stitch {

namespace {

constexpr int deepest_reference = 64;

constexpr std::array annotations = {"$schema",     "$id",     "$defs",    "$comment",  "title",
                                    "description", "default", "examples", "deprecated"};
constexpr std::array keywords = {"$ref",
                                 "type",
                                 "properties",
                                 "required",
                                 "additionalProperties",
                                 "enum",
                                 "const",
                                 "items",
                                 "minItems",
                                 "maxItems",
                                 "minimum",
                                 "maximum",
                                 "exclusiveMinimum",
                                 "exclusiveMaximum",
                                 "minLength",
                                 "maxLength",
                                 "anyOf",
                                 "oneOf",
                                 "allOf"};

std::string shown(const Json& value) {
  std::string text = line_text(value);
  if (text.size() <= 60) return text;
  size_t end = 57;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type == "integer")
    return value.is_number_integer() ||
           (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
  throw Bug("a schema with the type " + type);
}

size_t length_of(const std::string& text) {
  return std::ranges::count_if(text, [](unsigned char c) { return (c & 0xC0) != 0x80; });
}

class Checker {
 public:
  Checker(const Json& root, size_t limit) : root_(root), limit_(limit) {}

  void check(const Json& value, const Json& schema, const std::string& path, int depth = 0) {
    if (found.size() >= limit_) return;
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) say(path, "is not allowed");
      return;
    }
    require(schema.is_object() && depth < deepest_reference, "a schema is an object that ends somewhere");
    for (const auto& [key, unused] : schema.items())
      if (std::ranges::find(keywords, key) == keywords.end() &&
          std::ranges::find(annotations, key) == annotations.end())
        throw Bug("a schema with the keyword " + key);
    if (auto reference = schema.find("$ref"); reference != schema.end())
      check(value, referred(reference->get<std::string>()), path, depth + 1);
    if (!check_type(value, schema, path)) return;  // the rest would only repeat it
    check_value(value, schema, path);
    if (value.is_object()) check_object(value, schema, path, depth);
    if (value.is_array()) check_array(value, schema, path, depth);
    check_choices(value, schema, path, depth);
  }

  std::vector<SchemaViolation> found;

 private:
  void say(const std::string& path, std::string message) {
    if (found.size() < limit_) found.push_back({path, std::move(message)});
  }

  const Json& referred(const std::string& reference) const {
    require(reference.starts_with('#'), "a $ref points into its own document");
    return root_.at(Json::json_pointer(reference.substr(1)));
  }

  bool check_type(const Json& value, const Json& schema, const std::string& path) {
    auto type = schema.find("type");
    if (type == schema.end()) return true;
    std::vector<std::string> names;
    if (type->is_array())
      for (const Json& one : *type) names.push_back(one.get<std::string>());
    else
      names.push_back(type->get<std::string>());
    for (const std::string& name : names)
      if (has_type(value, name)) return true;
    say(path, format("must be of type {}, is {}", join(names, " or "), shown(value)));
    return false;
  }

  void check_value(const Json& value, const Json& schema, const std::string& path) {
    if (auto only = schema.find("const"); only != schema.end() && value != *only)
      say(path, format("must be {}, is {}", shown(*only), shown(value)));
    if (auto choices = schema.find("enum");
        choices != schema.end() && std::ranges::find(*choices, value) == choices->end()) {
      std::vector<std::string> names;
      for (const Json& choice : *choices) names.push_back(shown(choice));
      say(path, format("must be one of {}, is {}", join(names, ", "), shown(value)));
    }
    auto bound = [&](const char* key, double actual, auto fits, const char* words) {
      auto limit = schema.find(key);
      if (limit != schema.end() && !fits(actual, limit->get<double>()))
        say(path, format("{} {}, is {}", words, shown(*limit), shown(value)));
    };
    if (value.is_number()) {
      const double number = value.get<double>();
      bound("minimum", number, std::greater_equal<>(), "must be at least");
      bound("maximum", number, std::less_equal<>(), "must be at most");
      bound("exclusiveMinimum", number, std::greater<>(), "must be above");
      bound("exclusiveMaximum", number, std::less<>(), "must be below");
    }
    if (value.is_string() && (schema.contains("minLength") || schema.contains("maxLength"))) {
      const auto length = static_cast<double>(length_of(value.get_ref<const std::string&>()));
      bound("minLength", length, std::greater_equal<>(), "must have a length of at least");
      bound("maxLength", length, std::less_equal<>(), "must have a length of at most");
    }
  }

  void check_object(const Json& value, const Json& schema, const std::string& path, int depth) {
    if (auto required = schema.find("required"); required != schema.end())
      for (const Json& key : *required)
        if (!value.contains(key.get<std::string>()))
          say(path, format("\"{}\" is missing", key.get<std::string>()));
    auto properties = schema.find("properties");
    auto others = schema.find("additionalProperties");
    for (const auto& [key, member] : value.items()) {
      const std::string below = path.empty() ? key : path + "." + key;
      if (properties != schema.end() && properties->contains(key)) {
        check(member, (*properties)[key], below, depth + 1);
      } else if (others != schema.end()) {
        if (others->is_boolean() && !others->get<bool>())
          say(path, unknown_key(key, properties == schema.end() ? Json::object() : *properties));
        else
          check(member, *others, below, depth + 1);
      }
    }
  }

  static std::string unknown_key(const std::string& key, const Json& properties) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : properties.items()) names.push_back(name);
    auto near = nearest(key, names);
    return format("{} is not known here{}", shown(key), near ? format("; did you mean \"{}\"?", *near) : "");
  }

  void check_array(const Json& value, const Json& schema, const std::string& path, int depth) {
    auto count = [&](const char* key, bool least) {
      auto limit = schema.find(key);
      if (limit == schema.end()) return;
      const auto wanted = limit->get<size_t>();
      if (least ? value.size() < wanted : value.size() > wanted)
        say(path, format("must have at {} {} items, has {}", least ? "least" : "most", wanted, value.size()));
    };
    count("minItems", true);
    count("maxItems", false);
    if (auto items = schema.find("items"); items != schema.end())
      for (size_t i = 0; i < value.size(); ++i) check(value[i], *items, format("{}[{}]", path, i), depth + 1);
  }

  // Of choices that all fail, the one that came closest is explained: the fewest violations.
  void check_choices(const Json& value, const Json& schema, const std::string& path, int depth) {
    if (auto all = schema.find("allOf"); all != schema.end())
      for (const Json& one : *all) check(value, one, path, depth + 1);
    for (const char* key : {"anyOf", "oneOf"}) {
      auto choices = schema.find(key);
      if (choices == schema.end()) continue;
      size_t fitting = 0;
      std::vector<std::string> constants;
      std::optional<std::vector<SchemaViolation>> closest;
      for (const Json& choice : *choices) {
        Checker alone(root_, limit_);
        alone.check(value, choice, path, depth + 1);
        if (alone.found.empty()) ++fitting;
        if (choice.is_object() && choice.contains("const")) constants.push_back(shown(choice["const"]));
        if (!closest || alone.found.size() < closest->size()) closest = std::move(alone.found);
      }
      if (fitting == 1 || (fitting > 1 && key == std::string_view("anyOf"))) continue;
      if (fitting > 1)
        say(path, format("fits {} of the choices where it must fit one", fitting));
      else if (constants.size() == choices->size())
        say(path, format("must be one of {}, is {}", join(constants, ", "), shown(value)));
      else if (closest)
        for (SchemaViolation& one : *closest) say(one.path, std::move(one.message));
    }
  }

  const Json& root_;
  const size_t limit_;
};

}  // namespace

std::string SchemaViolation::text() const { return path.empty() ? message : path + ": " + message; }

std::vector<SchemaViolation> schema_violations(const Json& document, const Json& schema, size_t limit) {
  Checker checker(schema, limit);
  checker.check(document, schema, "");
  return std::move(checker.found);
}

}  // namespace stitch
