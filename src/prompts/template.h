// A prompt with {{names}} where values go: substitution, and nothing else.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stitch::prompts {

using Values = std::map<std::string, std::string, std::less<>>;

// Each name once, in the order of the text. An error where a {{ is not closed or holds no name.
Result<std::vector<std::string>> names_in(std::string_view text);

// Every {{name}} replaced by its value; a name without one is an error. Values are not looked into for names,
// and can't end the <material> block that they stand in.
Result<std::string> fill(std::string_view text, const Values& values);

}  // namespace stitch::prompts
