// Base64: bytes inside JSON, and passwords of HTTP.
#pragma once

#include <string>
#include <string_view>

namespace stitch::serve {

std::string to_base64(std::string_view bytes);
std::string from_base64(std::string_view text);  // up to the first character that is none of it

}  // namespace stitch::serve
