// Landlock: restricts the files that this process and its children can open. Raw system calls, since the C
// library has no wrappers.
#pragma once

#include "sandbox/sandbox.h"

namespace stitch::sandbox {

// Empty on success, otherwise the reason.
std::string restrict_files(const Policy& policy);

}  // namespace stitch::sandbox
