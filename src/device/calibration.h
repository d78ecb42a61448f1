// What techniques take on one GPU, over what the cost model says without having measured any: made by
// `stitchcuda calibrate` from runs on it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace stitch {

// Of one way of one technique: "conv.cudnn half channels_last".
struct Calibrated {
  double memory = 1;   // times the seconds that its bytes take
  double compute = 1;  // times the seconds that its arithmetic takes
  double seconds = 0;  // on top, whatever the size
  int samples = 0;     // regions that were measured
};

struct Calibration {
  std::string gpu;   // as GpuSpec has it
  std::string made;  // the day, and from what: for people
  std::map<std::string, Calibrated, std::less<>> techniques;

  // An unmeasured way gets its technique's calibration, an unmeasured technique that of all techniques: else
  // what was never tried would look cheaper than what was. Null: nothing was measured.
  const Calibrated* find(std::string_view way) const;
};

Json to_json(const Calibration& calibration);
// A file may come from anywhere: errors name the field.
Result<Calibration> read_calibration(const Json& document);

}  // namespace stitch
