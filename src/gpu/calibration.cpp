#include "gpu/calibration.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace stitch {

namespace {

constexpr int version = 1;

Error wrong(const std::string& where, std::string what) {
  return at("calibration: " + where,
            user_error("calibration", std::move(what),
                       "create it again: stitchcuda calibrate BENCH_FOLDER -o FILE"));
}

}  // namespace

const Calibrated* Calibration::find(std::string_view way) const {
  for (std::string_view each : {way, way.substr(0, way.find(' ')), std::string_view("all")})
    if (auto found = techniques.find(each); found != techniques.end()) return &found->second;
  return nullptr;
}

Json to_json(const Calibration& calibration) {
  Json techniques = Json::object();
  for (const auto& [way, each] : calibration.techniques)
    techniques[way] = {{"memory", each.memory},
                       {"compute", each.compute},
                       {"seconds", each.seconds},
                       {"samples", each.samples}};
  return {{"stitch_calibration", version},
          {"gpu", calibration.gpu},
          {"made", calibration.made},
          {"techniques", std::move(techniques)}};
}

Result<Calibration> read_calibration(const Json& document) {
  if (!document.is_object() || document.value("stitch_calibration", Json()) != Json(version))
    return wrong("stitch_calibration", format("a calibration of version {} is expected", version));
  Calibration out;
  for (auto [key, to] : {std::pair{"gpu", &out.gpu}, {"made", &out.made}}) {
    if (!document.contains(key) || !document[key].is_string()) return wrong(key, "a text is expected here");
    *to = document[key].get<std::string>();
  }
  if (!document.contains("techniques") || !document["techniques"].is_object())
    return wrong("techniques", "an object is expected here");
  for (const auto& [way, entry] : document["techniques"].items()) {
    Calibrated one;
    for (auto [key, to, least] : {std::tuple{"memory", &one.memory, 1e-3},
                                  {"compute", &one.compute, 1e-3},
                                  {"seconds", &one.seconds, 0.0}}) {
      if (!entry.is_object() || !entry.contains(key) || !entry[key].is_number())
        return wrong(way + "." + key, "a number is expected here");
      *to = entry[key].get<double>();
      if (!std::isfinite(*to) || *to < least || *to > 1e3)
        return wrong(way + "." + key, format("a number from {} to 1000 is expected here", least));
    }
    if (entry.contains("samples") && entry["samples"].is_number_integer()) one.samples = entry["samples"];
    out.techniques[way] = one;
  }
  return out;
}

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
