// http://user:password@host:port/path
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stitch::llm {

struct Url {
  bool secure = false;
  std::string user;  // with its password
  std::string host;  // without brackets
  int port = 80;
  std::string path;
  std::string origin() const;  // https://host:port
};
std::optional<Url> parse_url(std::string_view text);

}  // namespace stitch::llm
