// Calibrations that were measured by us and are built in (calibrations/). Predictions use them. Plans don't:
// a GPU's own calibration (GpuSpec) decides there, and none is set unless the user made one.
#pragma once

#include <string_view>

#include "device/calibration.h"

namespace stitch {

// Null: this GPU was not measured.
const Calibration* measured_calibration(std::string_view gpu);

}  // namespace stitch
