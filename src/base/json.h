// JSON, forward declarations only: files that build or read documents include <nlohmann/json.hpp>.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stitch {

using Json = nlohmann::ordered_json;

// Bounded nesting, exact position in the message.
Result<Json> parse_json(std::string_view text);
Json to_json(const Error& error);
// The text under `key` of an object, empty if there is none.
std::string word(const Json& object, const char* key);
// Indented, with a newline at the end; broken UTF-8 is replaced. For files and for --json.
std::string document_text(const Json& json);
// The same in one line, without a newline.
std::string line_text(const Json& json);

}  // namespace stitch
