// bubblewrap: a file system with only what a policy names in it.
#pragma once

#include "sandbox/sandbox.h"

namespace stitch::sandbox {

// What comes before the command that is to run inside; `launcher` is that command.
std::vector<std::string> bubblewrap_words(const fs::path& bubblewrap, const fs::path& launcher,
                                          const Policy& policy);

}  // namespace stitch::sandbox
