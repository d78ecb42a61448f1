// Access control: a token if one is set; without one, only local requests that don't come from a web page.
#pragma once

#include "http/server.h"

namespace stitch::serve {

// The token is taken from "Authorization: Bearer …", from a password ("http://:TOKEN@host", for engines that
// know only an address) or from "?token=". /healthz needs none.
http::Doorkeeper door(std::string token);

}  // namespace stitch::serve
