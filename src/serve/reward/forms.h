// The request forms of RL engines, one row each: what they post, read as submissions; what they expect back.
#pragma once

#include <span>

#include "http/message.h"
#include "http/server.h"
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

// Access control: a token if one is set; without one, only local requests that don't come from a web page.

// The token is taken from "Authorization: Bearer …", from a password ("http://:TOKEN@host", for engines that
// know only an address) or from "?token=". /healthz needs none.
http::Doorkeeper door(std::string token);

}  // namespace stitch::serve
