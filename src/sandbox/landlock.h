// Landlock: from now on this process and its children see only these files. Raw system calls; the C library
// has no names for them.
#pragma once

#include "sandbox/sandbox.h"

namespace stitch::sandbox {

// Empty if it was done, otherwise why not.
std::string restrict_files(const Policy& policy);

}  // namespace stitch::sandbox
