// The built-in judge: a rule a dimension, and scores as documents.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "rubric/score.h"

namespace stitch::rubric {

namespace {

constexpr size_t longest_reason = 2000;

Json schema() {
  const Json dimension = {{"type", "object"},
                          {"properties",
                           {{"score", {{"type", "integer"}, {"minimum", 1}, {"maximum", 5}}},
                            {"reason", {{"type", "string"}, {"minLength", 1}}}}},
                          {"required", {"score", "reason"}},
                          {"additionalProperties", false}};
  Json out = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (Dimension each : all_dimensions) {
    out["properties"][std::string(name(each))] = dimension;
    out["required"].push_back(name(each));
  }
  out["properties"]["major_hacking"] = {{"type", "boolean"}};
  out["required"].push_back("major_hacking");
  out["additionalProperties"] = false;
  return out;
}

}  // namespace

int Scores::total() const {
  return std::accumulate(dimensions.begin(), dimensions.end(), 0,
                         [](int sum, const Score& each) { return sum + each.score; });
}

Score score_of(double value, std::string reason) {
  if (!std::isfinite(value)) value = 1;
  value = std::clamp(value, 1.0, 5.0);
  return {static_cast<int>(std::floor(value + 0.5)), value, std::move(reason)};
}

const Json& score_schema() {
  static const Json all = schema();
  return all;
}

Json to_json(const Scores& scores) {
  Json out = Json::object();
  for (Dimension each : all_dimensions)
    out[std::string(name(each))] = {{"score", scores[each].score},
                                    {"value", std::round(scores[each].value * 100) / 100},
                                    {"reason", scores[each].reason}};
  out["total"] = scores.total();
  out["major_hacking"] = scores.major_hacking;
  out["judge"] = scores.judge;
  if (!scores.fallback.empty()) out["fallback"] = scores.fallback;
  return out;
}

Result<Scores> scores_from_json(const Json& json) {
  Scores out;
  try {
    for (Dimension each : all_dimensions) {
      const Json& one = json.at(std::string(name(each)));
      out[each].score = one.at("score").get<int>();
      if (out[each].score < 1 || out[each].score > 5)
        return user_error("scores", format("{}: a score is 1 to 5", name(each)));
      out[each].value = one.value("value", static_cast<double>(out[each].score));
      out[each].reason = one.at("reason").get<std::string>().substr(0, longest_reason);
    }
    out.major_hacking = json.at("major_hacking").get<bool>();
    out.judge = json.value("judge", "");
    out.fallback = json.value("fallback", "");
  } catch (const std::exception& error) {
    return user_error("scores", format("not valid scores: {}", error.what()));
  }
  return out;
}

Scores judge(const Evidence& evidence) {
  Scores out;
  out.judge = "builtin";
  out[Dimension::anti_hacking] = score_anti_hacking(evidence);
  out[Dimension::cuda_engineering] = score_cuda_engineering(evidence);
  out[Dimension::operator_coverage] = score_operator_coverage(evidence);
  out[Dimension::skill_compliance] = score_skill_compliance(evidence);
  out.major_hacking = is_major_hacking(evidence);
  return out;
}

}  // namespace stitch::rubric
