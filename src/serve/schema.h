// JSON Schemas of tools' arguments and answers, written from short tables, and whether arguments are as they
// say (base/json_schema.h).
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace stitch::serve {

enum class Kind : uint8_t { text, flag, integer, number, texts, object, list };

struct Argument {
  std::string name;
  Kind kind = Kind::text;
  std::string description;
  bool required = false;
  std::vector<std::string> values = {};  // of a text, or of each of several; empty: any
  int64_t least = 0, most = 0;           // of an integer
  size_t most_characters = 4096;         // of a text
};

std::shared_ptr<const Json> schema_of(std::initializer_list<Argument> arguments);

// One field of a tool's structured answer. All are optional: an answer that is too long has only a link.
struct Field {
  std::string name;
  Kind kind = Kind::text;
  std::string description;
};
std::shared_ptr<const Json> output_schema(const std::vector<Field>& fields);

// Arguments under the names of today: the model was `task` in some tools, the program `target`.
Json with_present_names(const Json& schema, Json arguments);

// A message of the command line's, for a client: its flags under the names of this tool's arguments.
std::string in_arguments(const Json& schema, std::string text);

// Errors name the argument, and the one that was probably meant.
Result<void> check_arguments(const Json& schema, const Json& arguments);

// Of arguments that were checked.
std::string text(const Json& arguments, const char* name, std::string otherwise = {});
bool flag(const Json& arguments, const char* name, bool otherwise = false);
int64_t integer(const Json& arguments, const char* name, int64_t otherwise);
std::vector<std::string> texts(const Json& arguments, const char* name);

}  // namespace stitch::serve
