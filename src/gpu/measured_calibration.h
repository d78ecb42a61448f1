// Built-in calibrations (calibrations/), used for predictions. Plans use only GpuSpec's own, which the user
// must have made.
#pragma once

#include <string_view>

#include "gpu/calibration.h"

namespace stitch {

// Null: not measured.
const Calibration* measured_calibration(std::string_view gpu);

}  // namespace stitch
