// What every program needs of the machine to start at all, as far as it is there.
#pragma once

#include <vector>

#include "base/file.h"

namespace stitch::sandbox {

std::vector<fs::path> system_folders();            // to be read: /usr, /lib, the loader's files in /etc
std::vector<fs::path> readable_devices(bool gpu);  // /dev/urandom
std::vector<fs::path> writable_devices(bool gpu);  // /dev/null, the GPU's

}  // namespace stitch::sandbox
