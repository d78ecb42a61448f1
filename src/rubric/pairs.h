// Candidates of testdata/pairs: a source, and its evidence as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "rubric/code_facts.h"
#include "rubric/judge.h"

namespace stitch::rubric::testing {

inline fs::path pairs_folder() { return fs::path(STITCH_SOURCE_DIR) / "src/rubric/testdata/pairs"; }

inline Json read_json(const fs::path& file) { return *parse_json(*read_file(file)); }

inline Execution run_of(const Json& json) {
  return json.contains("verdict") ? *execution_of(json["verdict"]) : Execution();
}

inline std::vector<Operator> operators_of_task(const std::string& task) {
  static const Json tasks = read_json(pairs_folder() / "tasks.json");
  std::vector<Operator> out;
  for (const Json& each : tasks["tasks"].at(task))
    out.push_back(operator_named(each["name"], each["op"], each["seconds"].get<double>()));
  return out;
}

inline Evidence candidate(const std::string& name) {
  const Json json = read_json(pairs_folder() / (name + ".json"));
  auto sources = [](const Json& of) {
    return *read_sources(pairs_folder() / of["source"].get<std::string>());
  };
  Before before;
  if (json.contains("before"))
    before = {sources(json["before"]), run_of(json["before"]), json["feedback"].get<std::string>()};
  return gather(sources(json), run_of(json), operators_of_task(json["task"]),
                json.contains("before") ? &before : nullptr);
}

}  // namespace stitch::rubric::testing
