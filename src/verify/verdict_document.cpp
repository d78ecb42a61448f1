#include "verify/verdict_document.h"

#include <nlohmann/json.hpp>

namespace stitch::verifier {

namespace {

constexpr int version = 1;

Json or_null(const std::shared_ptr<const Json>& json) { return json ? *json : Json(); }

std::shared_ptr<const Json> shared(const Json& json) {
  return json.is_null() ? nullptr : std::make_shared<const Json>(json);
}

template <class Enum>
Enum named(const Json& json, const char* key, Enum last) {
  const std::string text = json.at(key).get<std::string>();
  for (int value = 0; value <= static_cast<int>(last); ++value)
    if (text == name(static_cast<Enum>(value))) return static_cast<Enum>(value);
  throw std::out_of_range(key);
}

GateId gate_id(const Json& json) {
  const int value = json.at("id").get<int>();
  if (value < 0 || value > static_cast<int>(GateId::floor)) throw std::out_of_range("id");
  return static_cast<GateId>(value);
}

}  // namespace

Json to_document(const Verdict& verdict) {
  Json json = {{"stitch_verdict", version},
               {"header", or_null(verdict.header)},
               {"gates", Json::array()},
               {"notes", verdict.notes},
               {"adequacy", or_null(verdict.adequacy)},
               {"timing", or_null(verdict.timing)},
               {"sizes", or_null(verdict.sizes)},
               {"library", verdict.library.string()}};
  for (const GateReport& gate : verdict.gates)
    json["gates"].push_back({{"gate", gate.gate},
                             {"id", static_cast<int>(gate.id)},
                             {"outcome", name(gate.outcome)},
                             {"fault", name(gate.fault)},
                             {"code", gate.code},
                             {"summary", gate.summary},
                             {"evidence", or_null(gate.evidence)},
                             {"seconds", gate.seconds},
                             {"waited", gate.waited}});
  return json;
}

Result<Verdict> read_verdict(const Json& document) {
  try {
    if (document.at("stitch_verdict").get<int>() != version)
      return work_error("verdict", "the verdict is of another version");
    Verdict out{.header = shared(document.at("header")),
                .gates = {},
                .notes = document.at("notes").get<std::vector<std::string>>(),
                .adequacy = shared(document.value("adequacy", Json())),
                .timing = shared(document.at("timing")),
                .sizes = shared(document.value("sizes", Json())),
                .library = document.at("library").get<std::string>()};
    for (const Json& gate : document.at("gates"))
      out.gates.push_back({.gate = gate.at("gate").get<std::string>(),
                           .id = gate_id(gate),
                           .outcome = named(gate, "outcome", Outcome::skipped),
                           .fault = named(gate, "fault", Fault::misbehaved),
                           .code = gate.at("code").get<std::string>(),
                           .summary = gate.at("summary").get<std::string>(),
                           .evidence = shared(gate.at("evidence")),
                           .seconds = gate.at("seconds").get<double>(),
                           .waited = gate.value("waited", 0.0)});
    return out;
  } catch (const std::exception& error) {
    return work_error("verdict", format("this is no verdict: {}", error.what()));
  }
}

}  // namespace stitch::verifier
