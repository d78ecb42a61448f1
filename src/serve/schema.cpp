#include "serve/schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_schema.h"
#include "base/terminal/terminal.h"
#include "base/text.h"

namespace stitch::serve {

namespace {

Json schema_of(const Argument& argument) {
  Json schema = {{"description", argument.description}};
  switch (argument.kind) {
    case Kind::text:
      schema["type"] = "string";
      schema["maxLength"] = argument.most_characters;
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
      schema["maxItems"] = 100;
      schema["items"] = {{"type", "string"}};
      if (!argument.values.empty()) schema["items"]["enum"] = argument.values;
      break;
    case Kind::number: schema["type"] = "number"; break;
    case Kind::object: schema["type"] = "object"; break;
    case Kind::list: schema["type"] = "array"; break;
  }
  return schema;
}

struct Renamed {
  std::string_view before, now;
};
constexpr Renamed renamed[] = {{"task", "model"}, {"target", "program"}};

// Flags whose arguments have other names, or are values of one.
constexpr Renamed flags[] = {{"eval", "'mode' eval"},        {"train", "'mode' train"},
                             {"class", "'model_class'"},     {"force", "'overwrite'"},
                             {"budget", "'budget_seconds'"}, {"task", "'model'"},
                             {"no-timing", "'timing' false"}};

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

std::shared_ptr<const Json> output_schema(const std::vector<Field>& fields) {
  Json properties = Json::object();
  for (const Field& field : fields) {
    Json schema =
        schema_of(Argument{.name = field.name, .kind = field.kind, .description = field.description});
    for (const char* limit : {"maxLength", "maxItems", "minimum", "maximum"}) schema.erase(limit);
    properties[field.name] = std::move(schema);
  }
  return std::make_shared<const Json>(Json{{"type", "object"}, {"properties", std::move(properties)}});
}

Json with_present_names(const Json& schema, Json arguments) {
  if (!arguments.is_object()) return arguments;
  const Json& known = schema["properties"];
  for (const Renamed& each : renamed) {
    const std::string before(each.before), now(each.now);
    if (!arguments.contains(before) || known.contains(before) || !known.contains(now) ||
        arguments.contains(now))
      continue;
    arguments[now] = arguments[before];
    arguments.erase(before);
  }
  return arguments;
}

std::string in_arguments(const Json& schema, std::string text) {
  const Json& known = schema["properties"];
  for (size_t at = 0; (at = text.find("--", at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 2), text.size());
    const std::string flag = text.substr(at + 2, end - at - 2);
    std::string name = flag, said;
    std::ranges::replace(name, '-', '_');
    auto other = std::ranges::find(flags, flag, &Renamed::before);
    if (other != std::end(flags) && known.contains(split(other->now, '\'')[1]))
      said = other->now;
    else if (known.contains(name))
      said = "'" + name + "'";
    if (!said.empty()) text.replace(at, end - at, said);
    at = said.empty() ? end : at + said.size();
  }
  return text;
}

Result<void> check_arguments(const Json& schema, const Json& arguments) {
  if (!arguments.is_object()) return user_error("arguments", "the arguments must be an object");
  const Json& properties = schema["properties"];
  std::vector<std::string> names;
  for (const auto& [name, property] : properties.items()) names.push_back(name);
  for (const auto& [name, value] : arguments.items()) {
    if (properties.contains(name)) continue;
    auto near = nearest(name, names);
    return user_error("arguments", format("unknown argument '{}'", printable(shorten(name, 60))),
                      near ? format("did you mean '{}'?", *near) : "one of: " + join(names, ", "));
  }
  const std::vector<SchemaViolation> found = schema_violations(arguments, schema, 1);
  if (found.empty()) return {};
  const auto& [path, message] = found[0];
  return user_error("arguments", path.empty() ? message : format("'{}' {}", path, message));
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
