#include <nlohmann/json.hpp>

#include "serve/reward/scorer.h"

namespace stitch::serve {

Json to_json(const Judging& judging) {
  return {{"version", judging.version},
          {"numerics", name(judging.numerics)},
          {"device", judging.device == runner::Device::cuda ? "cuda" : "emulated"},
          {"baselines", judging.baselines},
          {"quick", judging.quick},
          {"timing", judging.timing},
          {"shared_processes", judging.shared_processes},
          {"kernelbench", judging.kernelbench_compatible},
          {"time_limit", judging.time_limit},
          {"reward", info(judging.reward).name},
          {"mode", name(judging.mode)}};
}

Result<Judging> judging_from_json(const Json& json) {
  Judging out;
  try {
    out.version = json.at("version").get<std::string>();
    STITCH_TRY(out.numerics, parse_numerics(json.at("numerics").get<std::string>()));
    out.device = json.at("device") == "cuda" ? runner::Device::cuda : runner::Device::emulated;
    out.baselines = json.at("baselines").get<std::vector<std::string>>();
    out.quick = json.at("quick").get<bool>();
    out.timing = json.at("timing").get<bool>();
    out.shared_processes = json.value("shared_processes", false);
    out.kernelbench_compatible = json.at("kernelbench").get<bool>();
    out.time_limit = json.at("time_limit").get<int>();
    STITCH_TRY(out.reward, rubric::parse_reward(json.at("reward").get<std::string>()));
    if (auto mode = parse_mode(json.at("mode").get<std::string>())) out.mode = *mode;
  } catch (const Json::exception& wrong) {
    return work_error("judging", format("the service's settings can't be read: {}", wrong.what()),
                      "use the same version of stitchcuda on both sides");
  }
  return out;
}

}  // namespace stitch::serve
