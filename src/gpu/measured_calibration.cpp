#include "gpu/measured_calibration.h"

#include <nlohmann/json.hpp>

namespace stitch {

extern const std::string_view embedded_calibration_h200;  // generated from calibrations/h200.json

const Calibration* measured_calibration(std::string_view gpu) {
  static const Calibration h200 = [] {
    auto document = parse_json(embedded_calibration_h200);
    require(bool(document), "calibrations/h200.json is valid JSON");
    auto calibration = read_calibration(*document);
    require(bool(calibration), "calibrations/h200.json is a calibration");
    return *std::move(calibration);
  }();
  return gpu == h200.gpu ? &h200 : nullptr;
}

}  // namespace stitch
