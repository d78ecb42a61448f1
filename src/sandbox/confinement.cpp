#include "sandbox/confinement.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stitch::sandbox {

namespace {

std::vector<std::string> texts(const std::vector<fs::path>& paths) { return {paths.begin(), paths.end()}; }

std::vector<fs::path> paths(const Json& json) {
  const auto list = json.get<std::vector<std::string>>();
  return {list.begin(), list.end()};
}

}  // namespace

bool Confinement::has(Wall wall) const { return std::find(walls.begin(), walls.end(), wall) != walls.end(); }

std::string to_text(const Confinement& confinement) {
  const Policy& policy = confinement.policy;
  Json json = {{"readable", texts(policy.readable)},
               {"writable", texts(policy.writable)},
               {"may_start_processes", policy.may_start_processes},
               {"gpu", policy.gpu},
               {"own_network", policy.own_network},
               {"memory_limit", policy.memory_limit},
               {"file_limit", policy.file_limit},
               {"process_limit", policy.process_limit},
               {"errors_to_output", policy.errors_to_output},
               {"background", policy.background},
               {"kept_descriptors", policy.kept_descriptors},
               {"processor_seconds", confinement.processor_seconds},
               {"environment", confinement.environment},
               {"walls", Json::array()}};
  for (Wall wall : confinement.walls) json["walls"].push_back(static_cast<int>(wall));
  return line_text(json);
}

Result<Confinement> parse_confinement(std::string_view text) {
  STITCH_TRY(Json json, parse_json(text));
  try {
    Confinement out;
    out.policy.readable = paths(json.at("readable"));
    out.policy.writable = paths(json.at("writable"));
    json.at("may_start_processes").get_to(out.policy.may_start_processes);
    json.at("gpu").get_to(out.policy.gpu);
    json.at("own_network").get_to(out.policy.own_network);
    json.at("memory_limit").get_to(out.policy.memory_limit);
    json.at("file_limit").get_to(out.policy.file_limit);
    json.at("process_limit").get_to(out.policy.process_limit);
    json.at("errors_to_output").get_to(out.policy.errors_to_output);
    json.at("background").get_to(out.policy.background);
    json.at("kept_descriptors").get_to(out.policy.kept_descriptors);
    json.at("processor_seconds").get_to(out.processor_seconds);
    json.at("environment").get_to(out.environment);
    for (const Json& wall : json.at("walls")) out.walls.push_back(static_cast<Wall>(wall.get<int>()));
    return out;
  } catch (const Json::exception& error) {
    return work_error("confine", format("no policy: {}", error.what()));
  }
}

}  // namespace stitch::sandbox
