// The page at /: the queue, the latest verdicts, reward and hack rates, as they come.
#pragma once

#include <string>

#include "base/json.h"

namespace stitch::serve {

// `status`: as GET /status. The page refreshes it every two seconds.
std::string service_page(const Json& status);

}  // namespace stitch::serve
