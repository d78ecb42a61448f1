// What rounding does to the outputs, place by place: the reference measures it, the class says what it is
// worth.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "verify/torch_reference.h"

namespace stitch::verifier {

namespace {

// Outputs that were measured together: the mean square of their errors in units of PyTorch's own, of which
// twice is allowed to each. Not all of them are at the mean.
constexpr double together_allowed = 2.25;
// More than this, and one set of weights has to do.
constexpr double long_seconds = 2;
constexpr uint64_t rounding_seed = 0x5eed;
constexpr int rounding_probes = 2;

// Every number below, times the factor of its group.
Json scaled_shares(const Json& shares, const std::vector<double>& factors) {
  Json out = Json::array();
  for (size_t g = 0; g < factors.size(); ++g) {
    Json group = Json::array();
    for (const Json& one : shares.at(g)) group.push_back(factors[g] * one.get<double>());
    out.push_back(std::move(group));
  }
  return out;
}

Json in_units_of_budget(const Json& answer, double floor) {
  Json out = {{"groups", Json::array()}, {"values", Json::object()}, {"products", Json::object()}};
  std::vector<double> factors;
  for (const Json& group : answer.at("groups")) {
    const Json& names = group.at("outputs");
    double allowed = together_allowed, pytorch = 1;
    if (names.size() == 1) {
      const double error = answer.at("outputs").at(names[0].get<std::string>()).at("error").get<double>();
      const double budget = relative_budget(error, floor);
      allowed = budget * budget;
      pytorch = error * error;
    }
    factors.push_back(1 / allowed);
    out["groups"].push_back({{"name", group.at("name")}, {"pytorch", pytorch / allowed}});
  }
  for (const auto& [name, entry] : answer.at("values").items())
    out["values"][name] = {{"largest", entry.at("largest")},
                           {"shares", scaled_shares(entry.at("shares"), factors)}};
  for (const auto& [name, entry] : answer.at("operands").items()) {
    Json operands = Json::array();
    for (const Json& slot : entry.at("slots")) operands.push_back(scaled_shares(slot.at("shares"), factors));
    out["products"][name] = {{"module", entry.at("module")}, {"operands", std::move(operands)}};
  }
  return out;
}

// Of two measurements the larger number, place by place; what one of them lacks is left out.
void keep_larger(Json& numbers, const Json& others) {
  if (numbers.is_number() && others.is_number()) {
    if (others.get<double>() > numbers.get<double>()) numbers = others;
  } else if (numbers.is_array() && others.is_array() && numbers.size() == others.size()) {
    for (size_t i = 0; i < numbers.size(); ++i) keep_larger(numbers[i], others[i]);
  } else if (numbers.is_object() && others.is_object()) {
    for (auto& [name, number] : numbers.items())
      if (auto found = others.find(name); found != others.end()) keep_larger(number, *found);
  }
}

}  // namespace

Result<Json> TorchReference::roundings_with(Weights weights) {
  STITCH_CHECK(set_weights(weights));
  const double floor = Judging{}.floor;
  // Half the floor: the reference counts in PyTorch's errors, and twice that is allowed.
  STITCH_TRY(Json answer, process_.ask({{"do", "roundings"},
                                        {"mode", name(numerics_)},
                                        {"seed", rounding_seed},
                                        {"floor", floor / 2},
                                        {"probes", rounding_probes}}));
  if (answer.contains("unavailable"))
    return work_error("unmeasured", answer["unavailable"].get<std::string>());
  try {
    Json out = in_units_of_budget(answer, floor);
    out["seconds"] = answer.value("seconds", 0.0);
    return out;
  } catch (const Json::exception& broken) {
    return work_error("unmeasured", format("the reference's answer can't be read: {}", broken.what()));
  }
}

Result<Json> TorchReference::roundings() {
  auto measured = roundings_with(Weights::task);
  // Gains and statistics that are all ones and zeros hide what others would show.
  if (measured && measured->at("seconds").get<double>() < long_seconds &&
      !task_.signature.parameters.empty()) {
    if (auto more = roundings_with(Weights::reparameterised)) keep_larger(*measured, *more);
  }
  STITCH_CHECK(set_weights(Weights::task));
  if (measured) measured->erase("seconds");
  return measured;
}

}  // namespace stitch::verifier
