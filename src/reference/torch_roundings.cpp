// What rounding does to the outputs, place by place: the reference measures it, the class says what it is
// worth.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reference/torch_reference.h"

namespace stitch::verifier {

namespace {

// Outputs that were measured together: the mean square of their errors in units of PyTorch's own, of which
// twice is allowed to each. Not all of them are at the mean.
constexpr double together_allowed = 2.25;
// More than this in all, and no further kind of inputs is measured. Plans may spend less of the budget where
// few were, and a GPU that others use, too, is no reason for that.
constexpr double long_seconds = 2, long_seconds_for_few = 8;
constexpr int few_kinds = 3;

// What the gates ask about beside the task's own inputs. Gains and statistics that are all ones and zeros
// hide what others would show; and PyTorch's own error, which is what is allowed, falls with inputs that
// leave biases most of an output, while that of values stored in fp16 stays. Those first that were seen to
// cost most.
struct OtherTrial {
  Weights weights;
  std::string_view distribution;
};
constexpr std::array other_trials = {OtherTrial{Weights::reparameterised, "task"},
                                     OtherTrial{Weights::task, "sparse"},
                                     OtherTrial{Weights::task, "positive"},
                                     OtherTrial{Weights::task, "scaled"},
                                     OtherTrial{Weights::task, "waves"},
                                     OtherTrial{Weights::task, "normal"},
                                     OtherTrial{Weights::reparameterised, "normal"}};

constexpr uint64_t rounding_seed = 0x5eed;
constexpr int rounding_probes = 2;

// Errors of few elements vary from draw to draw, a program's and PyTorch's, which is the budget: the square
// of an error that stays within it in 19 of 20 draws, as a part of the budget's. Of n elements that don't
// know of each other the logarithm of such a ratio has a deviation of 2 / sqrt(n).
double expected_part(double elements) { return std::exp(-2 * 1.645 / std::sqrt(std::max(elements, 1.0))); }

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
      const Json& output = answer.at("outputs").at(names[0].get<std::string>());
      const double error = output.at("error").get<double>();
      const double budget = relative_budget(error, floor);
      allowed = budget * budget * expected_part(output.at("elements").get<double>());
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

void append(Json& shares, const Json& more) { shares.insert(shares.end(), more.begin(), more.end()); }

// Another measurement's groups behind those that are there, each a condition of its own; places that one of
// the two lacks are left out.
void append_groups(Json& measured, const Json& other, const std::string& suffix) {
  for (Json group : other.at("groups")) {
    group["name"] = group.at("name").get<std::string>() + suffix;
    measured["groups"].push_back(std::move(group));
  }
  Json values = Json::object(), products = Json::object();
  for (auto& [name, entry] : measured["values"].items()) {
    auto more = other.at("values").find(name);
    if (more == other.at("values").end()) continue;
    append(entry["shares"], more->at("shares"));
    entry["largest"] = std::max(entry["largest"].get<double>(), more->at("largest").get<double>());
    values.push_back({name, std::move(entry)});
  }
  for (auto& [name, entry] : measured["products"].items()) {
    auto more = other.at("products").find(name);
    if (more == other.at("products").end() || more->at("operands").size() != entry["operands"].size())
      continue;
    for (size_t i = 0; i < entry["operands"].size(); ++i)
      append(entry["operands"][i], more->at("operands")[i]);
    products.push_back({name, std::move(entry)});
  }
  measured["values"] = std::move(values);
  measured["products"] = std::move(products);
}

}  // namespace

Result<Json> TorchReference::roundings_with(Weights weights, std::string_view distribution) {
  STITCH_CHECK(set_weights(weights));
  const double floor = Judging{}.floor;
  // Half the floor: the reference counts in PyTorch's errors, and twice that is allowed.
  STITCH_TRY(Json answer, process_.ask({{"do", "roundings"},
                                        {"mode", name(numerics_)},
                                        {"distribution", distribution},
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
  auto measured = roundings_with(Weights::task, "task");
  if (!measured) return measured;
  double seconds = measured->at("seconds").get<double>();
  int kinds = 1;
  for (const auto& [weights, distribution] : other_trials) {
    if (seconds > (kinds < few_kinds ? long_seconds_for_few : long_seconds)) break;
    const bool other_inputs = distribution != "task";
    if (weights == Weights::reparameterised ? task_.signature.parameters.empty()
                                            : !std::ranges::count(distributions_, distribution))
      continue;
    auto more = roundings_with(weights, distribution);
    if (!more) continue;
    seconds += more->at("seconds").get<double>();
    std::string suffix = other_inputs ? format(", {} inputs", distribution) : "";
    if (weights == Weights::reparameterised) suffix += ", reparameterised weights";
    append_groups(*measured, *more, suffix);
    ++kinds;
  }
  STITCH_CHECK(set_weights(Weights::task));
  measured->erase("seconds");
  (*measured)["kinds"] = kinds;
  return measured;
}

}  // namespace stitch::verifier
