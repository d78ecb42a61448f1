// JSON-RPC 2.0, as much of it as MCP uses.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"

namespace stitch::serve {

namespace rpc {
inline constexpr int parse_error = -32700, invalid_request = -32600, no_such_method = -32601,
                     invalid_params = -32602, internal_error = -32603, no_such_resource = -32002;
}

Json result_message(const Json& id, Json result);
Json error_message(const Json& id, int code, std::string_view message);
Json notification(std::string_view method, Json params);
}  // namespace stitch::serve
