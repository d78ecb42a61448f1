// Where programs run.
#pragma once

#include <string>

#include "runner/candidate.h"

namespace stitch {

// cuda, emulated, or auto: the GPU if there is one.
Result<runner::Device> choose_device(const std::string& name);

}  // namespace stitch
