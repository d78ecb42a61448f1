#include "base/json.h"

#include <nlohmann/json.hpp>

namespace stitch {

namespace {
constexpr int deepest = 64;  // our documents are 6 deep; the parser recurses on the way out

bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}
}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (too_deep(text)) return user_error("json", format("JSON nested deeper than {} levels", deepest));
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    return user_error("json", format("not valid JSON near byte {}", error.byte));
  } catch (const nlohmann::json::exception& error) {
    return user_error("json", format("not usable JSON: {}", error.what()));
  }
}

Json to_json(const Error& error) {
  Json out = {{"code", error.code}, {"message", error.message}};
  if (!error.where.empty()) out["where"] = error.where;
  if (!error.fix.empty()) out["fix"] = error.fix;
  out["exit_code"] = error.exit_code();
  return {{"error", out}};
}

std::string word(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string document_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string line_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace stitch
