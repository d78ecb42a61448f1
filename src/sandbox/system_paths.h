// System paths that every program needs, as far as they exist.
#pragma once

#include <vector>

#include "base/file.h"

namespace stitch::sandbox {

std::vector<fs::path> system_folders();            // read-only: /usr, /lib, the loader's files in /etc
std::vector<fs::path> readable_devices(bool gpu);  // /dev/urandom
std::vector<fs::path> writable_devices(bool gpu);  // /dev/null, the GPU's device files

}  // namespace stitch::sandbox
