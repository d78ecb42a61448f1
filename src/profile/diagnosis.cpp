#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "profile/rules.h"

namespace stitch::profile {

namespace {

constexpr std::pair<Bottleneck, std::string_view> bottlenecks[] = {
    {Bottleneck::launch, "launch"},       {Bottleneck::host, "host"},
    {Bottleneck::memory, "memory"},       {Bottleneck::compute, "compute"},
    {Bottleneck::latency, "latency"},     {Bottleneck::occupancy, "occupancy"},
    {Bottleneck::imbalance, "imbalance"},
};

std::string value_text(const Figure& figure) {
  if (figure.unit == "s") return seconds_text(figure.value);
  if (figure.unit == "B") return bytes_text(figure.value);
  if (figure.unit == "%") return format("{:.0f} %", figure.value);
  return std::floor(figure.value) == figure.value ? format("{:.0f}", figure.value)
                                                  : format("{:.2f}", figure.value);
}

// A figure as part of a sentence.
std::string in_words(const Figure& figure) {
  struct Words {
    std::string_view figure, before, after;
  };
  constexpr Words known[] = {
      {"idle_share", "the device is idle ", " of the call"},
      {"idle_seconds", "for ", ""},
      {"kernels", "", " kernels"},
      {"gaps", "gaps between them: ", ""},
      {"median_kernel_seconds", "half of them take at most ", ""},
      {"host_copy_seconds", "copies to and from the host take ", ""},
      {"span_seconds", "of ", ""},
      {"synchronisations", "the host waits ", " times for the device"},
      {"seconds_in_gaps_over_25_us", "gaps over 25 us take ", ""},
      {"share_of_call", "", " of the call"},
      {"seconds_each", "a launch takes ", ""},
      {"launches", "launches: ", ""},
      {"blocks", "", " blocks"},
      {"multiprocessors", "", " multiprocessors"},
      {"share_of_bandwidth", "", " of the memory's bandwidth"},
      {"share_of_arithmetic", "", " of the arithmetic's rate"},
  };
  for (const Words& words : known)
    if (words.figure == figure.name) return format("{}{}{}", words.before, value_text(figure), words.after);
  std::string plain = figure.name;
  std::ranges::replace(plain, '_', ' ');
  return format("{} {}", plain, value_text(figure));
}

}  // namespace

std::string_view name(Bottleneck bottleneck) {
  for (const auto& [known, text] : bottlenecks)
    if (known == bottleneck) return text;
  throw Bug("a bottleneck without a name");
}

Result<Bottleneck> parse_bottleneck(std::string_view name) {
  for (const auto& [bottleneck, text] : bottlenecks)
    if (text == name) return bottleneck;
  return user_error("bottleneck", format("unknown bottleneck '{}'", name),
                    "one of launch, host, memory, compute, latency, occupancy, imbalance");
}

Json to_json(const Diagnosis& diagnosis) {
  Json out = {{"subject", diagnosis.subject},
              {"bottleneck", name(diagnosis.bottleneck)},
              {"rule", diagnosis.rule},
              {"seconds", diagnosis.seconds},
              {"share", diagnosis.share},
              {"evidence", Json::array()},
              {"suggestion", diagnosis.suggestion},
              {"expected_gain_seconds", diagnosis.expected_gain_seconds}};
  for (const Figure& figure : diagnosis.evidence)
    out["evidence"].push_back({{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}});
  if (!diagnosis.missing.empty()) out["missing"] = diagnosis.missing;
  return out;
}

Json to_json(const Diagnoses& diagnoses) {
  Json out = {{"whole", to_json(diagnoses.whole)}, {"regions", Json::array()}};
  for (const Diagnosis& region : diagnoses.regions) out["regions"].push_back(to_json(region));
  return out;
}

Result<Diagnosis> diagnosis_from_json(const Json& json) {
  if (!json.is_object()) return user_error("diagnosis", "a diagnosis must be a JSON object");
  Diagnosis out{.subject = word(json, "subject"), .rule = word(json, "rule")};
  STITCH_TRY(out.bottleneck, parse_bottleneck(word(json, "bottleneck")));
  out.suggestion = word(json, "suggestion");
  out.missing = word(json, "missing");
  if (out.suggestion.empty()) return user_error("diagnosis", "'suggestion' is missing");
  for (auto [field, value] : {std::pair{"seconds", &out.seconds},
                              {"share", &out.share},
                              {"expected_gain_seconds", &out.expected_gain_seconds}}) {
    auto found = json.find(field);
    if (found == json.end()) continue;
    if (!found->is_number()) return user_error("diagnosis", format("'{}' is not a number", field));
    *value = found->get<double>();
  }
  const Json evidence = json.value("evidence", Json::array());
  if (!evidence.is_array()) return user_error("diagnosis", "'evidence' must be a list");
  for (const Json& figure : evidence) {
    if (!figure.is_object() || !figure.contains("value") || !figure["value"].is_number())
      return user_error("diagnosis", "an entry of 'evidence' needs a name, a value and a unit");
    out.evidence.push_back({word(figure, "name"), figure["value"].get<double>(), word(figure, "unit")});
  }
  return out;
}

std::string diagnosis_schema() {
  Json names = Json::array();
  for (const auto& [bottleneck, text] : bottlenecks) names.push_back(text);
  const Json text = {{"type", "string"}}, number = {{"type", "number"}};
  const Json figure = {{"type", "object"},
                       {"required", {"name", "value", "unit"}},
                       {"properties", {{"name", text}, {"value", number}, {"unit", text}}}};
  const Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "Diagnosis"},
      {"description", "One bottleneck, its evidence, and one suggestion with its expected gain."},
      {"type", "object"},
      {"required", {"subject", "bottleneck", "evidence", "suggestion", "expected_gain_seconds"}},
      {"properties",
       {{"subject", text},
        {"bottleneck", {{"enum", names}}},
        {"rule", text},
        {"seconds", number},
        {"share", number},
        {"evidence", {{"type", "array"}, {"items", figure}}},
        {"suggestion", text},
        {"expected_gain_seconds", number},
        {"missing", text}}}};
  return schema.dump(2);
}

std::string text(const Diagnosis& diagnosis) {
  std::vector<std::string> figures;
  for (const Figure& figure : diagnosis.evidence)
    if (figure.value != 0) figures.push_back(in_words(figure));
  std::string out = format("{}-bound", name(diagnosis.bottleneck));
  if (!figures.empty()) out += ": " + join(figures, ", ");
  out += ". To do: " + diagnosis.suggestion;
  if (diagnosis.expected_gain_seconds > 0)
    out += format(", for up to {} a call", seconds_text(diagnosis.expected_gain_seconds));
  out += ".";
  if (!diagnosis.missing.empty()) out += format(" ({})", diagnosis.missing);
  return out;
}

}  // namespace stitch::profile
