// The token of a service, from an environment variable: never from a command line, which others can read.
#pragma once

#include <cstdlib>
#include <string>

#include "base/result.h"

namespace stitch::serve {

inline Result<std::string> token_in(const std::string& variable) {
  if (variable.empty()) return std::string();
  const char* value = std::getenv(variable.c_str());
  constexpr size_t least = 8;
  if (!value || !*value)
    return user_error("token", format("the environment variable {} is empty", variable),
                      format("export {}=$(openssl rand -hex 16)", variable));
  const std::string out = value;
  if (out.size() < least)
    return user_error("token", format("the token in {} is shorter than {} characters", variable, least));
  for (unsigned char c : out)
    if (c <= ' ' || c >= 127)
      return user_error("token",
                        format("the token in {} has characters that an HTTP header can't hold", variable));
  return out;
}

}  // namespace stitch::serve
