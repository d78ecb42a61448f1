// Measured factors over the cost model's times on one GPU, written by `stitchcuda calibrate` from runs on it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "gpu/calibration.h"

namespace stitch {

// For one variant of a technique: "conv.cudnn half channels_last".
struct Calibrated {
  double memory = 1;   // times the seconds that its bytes take
  double compute = 1;  // times the seconds that its arithmetic takes
  double seconds = 0;  // constant overhead
  int samples = 0;     // measured regions
};

struct Calibration {
  std::string gpu;   // as GpuSpec has it
  std::string made;  // date and source, for people
  std::map<std::string, Calibrated, std::less<>> techniques;

  // An unmeasured variant gets its technique's calibration, an unmeasured technique that of all: otherwise
  // what was never tried would look cheaper. Null: nothing was measured.
  const Calibrated* find(std::string_view way) const;
};

Json to_json(const Calibration& calibration);
// Untrusted input: errors name the field.
Result<Calibration> read_calibration(const Json& document);

// Built-in calibrations (calibrations/), used for predictions. Plans use only GpuSpec's own, which the user
// must have made.
// Null: not measured.
const Calibration* measured_calibration(std::string_view gpu);

}  // namespace stitch
