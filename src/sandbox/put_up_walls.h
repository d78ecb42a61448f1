// The walls of a confinement around this very process: for the launcher, which becomes the program
// afterwards, and for a fork of a process that has imported PyTorch, which is the program already.
#pragma once

#include <string>

#include "sandbox/confinement.h"

namespace stitch::sandbox {

// All of them but bubblewrap's, which the launcher is started behind. Where something has to stay behind,
// this process forks: whoever returns is the confined one. Empty if all stand, otherwise what doesn't; then
// it has to end.
std::string put_up_walls(const Confinement& confinement);

}  // namespace stitch::sandbox
