#include <nlohmann/json.hpp>

#include "base/terminal/terminal.h"
#include "base/text.h"
#include "llm/http_chat.h"
#include "llm/wire/wire.h"

namespace stitch::llm {

namespace {

// A server's own words, for one line of a terminal.
std::string said_by(std::string_view body) {
  if (trim(body).empty()) return "";
  auto parsed = parse_json(body);
  std::string text = parsed && parsed->is_object() ? error_message(*parsed) : std::string(body);
  return ": " + shorten(printable(trim(text)), 300);
}

}  // namespace

Error status_error(const Profile& profile, int status, std::string_view body) {
  const std::string said = said_by(body);
  const std::string who = format("{} ({})", profile.url, status);
  switch (status) {
    case 401:
    case 403:
      return user_error(
          "llm_auth", format("{} rejects the API key{}", who, said),
          profile.key_env.empty()
              ? format("name the variable that holds its key: key_env of [llm.{}]", profile.name)
              : format("check the key in ${}", profile.key_env));
    case 402: return user_error("llm_request", format("{} requires payment{}", who, said));
    case 404:
      return user_error(
          "llm_model",
          format("{} has no model '{}', or no {}{}", who, profile.model, wire_of(profile.api).path(), said),
          format("check model, url and api of the profile {}", profile.name));
    case 413:
      return user_error("llm_request", format("{} rejects the request as too large{}", who, said),
                        format("set context of the profile {}", profile.name));
    case 429:
      return work_error("llm_rate_limit", format("{} limits the request rate{}", who, said),
                        "wait, or use another profile");
    case 408:
    case 425: return work_error("llm_timeout", format("{} timed out{}", who, said));
    default: break;
  }
  if (status >= 500)
    return work_error("llm_server", format("{} failed{}", who, said),
                      status == 529 || status == 503 ? "it is overloaded: try later, or another profile"
                                                     : "its log may say why");
  if (status >= 300 && status < 400)
    return user_error("llm_request", format("{} redirects to another address", who),
                      "put that address into the profile's url: keys are not sent on");
  return user_error("llm_request", format("{} rejects the request{}", who, said));
}

std::optional<double> retry_after(const http::Response& head) {
  if (auto milliseconds = parse_number(head.header("retry-after-ms"))) return *milliseconds / 1000;
  auto seconds = parse_number(head.header("retry-after"));
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

}  // namespace stitch::llm
