// bubblewrap: a mount namespace that contains only what the policy names.
#pragma once

#include "sandbox/sandbox.h"

namespace stitch::sandbox {

// The bwrap command line up to and including "--"; `launcher` will run inside.
std::vector<std::string> bubblewrap_words(const fs::path& bubblewrap, const fs::path& launcher,
                                          const Policy& policy);

}  // namespace stitch::sandbox
