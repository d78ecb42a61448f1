// stitchcuda.toml. toml++ stays in config_file.cpp.
#pragma once

#include "llm/profiles/profile.h"

namespace stitch::llm {

// False: built without toml++, and no file can be read.
bool can_read_config();
// The profiles of a file; those that have the name of a built-in one start from it. Errors name file and
// line.
Result<std::vector<Profile>> read_config(const fs::path& path, std::string_view text);

}  // namespace stitch::llm
