#include "serve/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "base/text.h"

namespace stitch::serve {

namespace {

Json schema_of(const Argument& argument) {
  Json schema = {{"description", argument.description}};
  switch (argument.kind) {
    case Kind::text:
      schema["type"] = "string";
      schema["maxLength"] = argument.most_bytes;
      if (!argument.values.empty()) schema["enum"] = argument.values;
      break;
    case Kind::flag: schema["type"] = "boolean"; break;
    case Kind::integer:
      schema["type"] = "integer";
      schema["minimum"] = argument.least;
      schema["maximum"] = argument.most;
      break;
    case Kind::texts:
      schema["type"] = "array";
      schema["items"] = {{"type", "string"}};
      if (!argument.values.empty()) schema["items"]["enum"] = argument.values;
      break;
    case Kind::object: schema["type"] = "object"; break;
  }
  return schema;
}

Error bad(const std::string& name, const std::string& message, std::string fix = {}) {
  return user_error("arguments", format("'{}' {}", name, message), std::move(fix));
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "array") return value.is_array();
  return value.is_object();
}

Result<void> check_text(const std::string& name, const Json& schema, const Json& value) {
  const auto& word = value.get_ref<const std::string&>();
  if (schema.contains("maxLength") && word.size() > schema["maxLength"].get<size_t>())
    return bad(name,
               format("has {} bytes, at most {} are taken", word.size(), schema["maxLength"].get<size_t>()));
  if (!schema.contains("enum")) return {};
  const auto values = schema["enum"].get<std::vector<std::string>>();
  if (std::ranges::find(values, word) != values.end()) return {};
  return bad(name, format("can't be '{}'", shorten(word, 60)), "one of: " + join(values, ", "));
}

Result<void> check_value(const std::string& name, const Json& schema, const Json& value) {
  const auto type = schema["type"].get<std::string>();
  if (!has_type(value, type)) return bad(name, format("is {}, not {}", value.type_name(), type));
  if (type == "string") return check_text(name, schema, value);
  if (type == "integer") {
    const auto number = value.get<int64_t>(), least = schema["minimum"].get<int64_t>(),
               most = schema["maximum"].get<int64_t>();
    if ((value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most)) ||
        number < least || number > most)
      return bad(name, format("has to be from {} to {}", least, most));
  }
  if (type == "array") {
    constexpr size_t most_items = 100;
    if (value.size() > most_items) return bad(name, format("has more than {} items", most_items));
    for (const Json& item : value) {
      if (!item.is_string()) return bad(name, "has to be a list of strings");
      STITCH_CHECK(check_text(name, schema["items"], item));
    }
  }
  return {};
}

}  // namespace

std::shared_ptr<const Json> schema_of(std::initializer_list<Argument> arguments) {
  Json properties = Json::object(), required = Json::array();
  for (const Argument& argument : arguments) {
    properties[argument.name] = schema_of(argument);
    if (argument.required) required.push_back(argument.name);
  }
  return std::make_shared<const Json>(Json{{"type", "object"},
                                           {"properties", std::move(properties)},
                                           {"required", std::move(required)},
                                           {"additionalProperties", false}});
}

Result<void> check_arguments(const Json& schema, const Json& arguments) {
  if (!arguments.is_object()) return user_error("arguments", "the arguments must be an object");
  const Json& properties = schema["properties"];
  std::vector<std::string> names;
  for (const auto& [name, property] : properties.items()) names.push_back(name);
  for (const auto& [name, value] : arguments.items()) {
    if (!properties.contains(name)) {
      const std::string shown = printable(shorten(name, 60));
      auto near = nearest(name, names);
      return user_error("arguments", format("unknown argument '{}'", shown),
                        near ? format("did you mean '{}'?", *near) : "one of: " + join(names, ", "));
    }
    STITCH_CHECK(check_value(name, properties[name], value));
  }
  for (const Json& name : schema["required"])
    if (!arguments.contains(name.get<std::string>())) return bad(name.get<std::string>(), "is required");
  return {};
}

std::string text(const Json& arguments, const char* name, std::string otherwise) {
  auto found = arguments.find(name);
  return found == arguments.end() ? std::move(otherwise) : found->get<std::string>();
}
bool flag(const Json& arguments, const char* name, bool otherwise) {
  auto found = arguments.find(name);
  return found == arguments.end() ? otherwise : found->get<bool>();
}
int64_t integer(const Json& arguments, const char* name, int64_t otherwise) {
  auto found = arguments.find(name);
  return found == arguments.end() ? otherwise : found->get<int64_t>();
}
std::vector<std::string> texts(const Json& arguments, const char* name) {
  auto found = arguments.find(name);
  return found == arguments.end() ? std::vector<std::string>() : found->get<std::vector<std::string>>();
}

}  // namespace stitch::serve
