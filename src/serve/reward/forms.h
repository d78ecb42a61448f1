// The request forms of RL engines, one row each: what they post, read as submissions; what they expect back.
#pragma once

#include <span>

#include "http/message.h"
#include "serve/fleet/queue.h"

namespace stitch::serve {

struct Form {
  std::string_view path, engine;
  // Submissions as read_submission() takes them, one for each answer that is wanted.
  Result<std::vector<Json>> (*read)(const Json& body);
  Json (*write)(const http::Request& request, const Json& body, const std::vector<SharedJson>& answers);
  // Its client takes status 202 for an answer: it gets 429 instead, and retries.
  bool retries = true;
};
std::span<const Form> all_forms();
const Form* find_form(std::string_view path);

}  // namespace stitch::serve
