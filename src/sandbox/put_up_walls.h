// Confines the calling process: the launcher, which then executes the program, or a fork of a process that
// has imported PyTorch, which is the program already.
#pragma once

#include <string>

#include "sandbox/confinement.h"

namespace stitch::sandbox {

// Puts up all walls but bubblewrap, which the launcher is started in. May fork supervisors; returns only in
// the confined process. Empty on success, otherwise what failed; the caller must then exit.
std::string put_up_walls(const Confinement& confinement);

}  // namespace stitch::sandbox
