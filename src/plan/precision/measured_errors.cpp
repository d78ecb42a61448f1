#include "plan/precision/measured_errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace stitch::plan {

std::string_view name(Precision precision) {
  constexpr std::array<std::string_view, 4> names = {"f32", "tf32", "f16", "bf16"};
  return names[static_cast<size_t>(precision)];
}

double RoundingShares::of(Precision precision) const {
  switch (precision) {
    case Precision::f32: return 0;
    case Precision::tf32: return tf32;
    case Precision::f16: return f16;
    case Precision::bf16: return bf16;
  }
  return 0;
}

const MeasuredErrors::Product* MeasuredErrors::product(std::string_view result,
                                                       std::string_view module) const {
  if (auto found = products.find(result); found != products.end()) return &found->second;
  const Product* out = nullptr;
  for (const auto& [name, each] : products) {
    if (module.empty() || each.module != module) continue;
    if (out) return nullptr;  // ambiguous
    out = &each;
  }
  return out;
}

MeasuredErrors scaled(MeasuredErrors errors, double times) {
  auto scale = [&](MeasuredErrors::Place& place) {
    for (RoundingShares& each : place.groups)
      for (double* square : {&each.tf32, &each.f16, &each.bf16, &each.scale}) *square *= times * times;
  };
  for (auto& [name, place] : errors.values) scale(place);
  for (auto& [name, product] : errors.products) std::ranges::for_each(product.operands, scale);
  return errors;
}

namespace {

Json shares_json(const MeasuredErrors::Place& place) {
  Json out = Json::array();
  for (const RoundingShares& each : place.groups) out.push_back({each.tf32, each.f16, each.bf16, each.scale});
  return out;
}

Error not_readable() {
  return user_error("measured_errors", "not a record of measured errors", "measure them again");
}

double number(const Json& json) {
  const double out = json.is_number() ? json.get<double>() : std::nan("");
  return out >= 0 ? out : std::nan("");  // who spends the budget leaves alone what is not a number
}

Result<MeasuredErrors::Place> place_of(const Json& shares, size_t groups) {
  MeasuredErrors::Place out;
  if (!shares.is_array() || shares.size() != groups) return not_readable();
  for (const Json& each : shares) {
    if (!each.is_array() || each.size() != 4) return not_readable();
    out.groups.push_back({number(each[0]), number(each[1]), number(each[2]), number(each[3])});
  }
  return out;
}

}  // namespace

Json to_json(const MeasuredErrors& errors) {
  Json out = {{"kinds", errors.kinds},
              {"groups", Json::array()},
              {"values", Json::object()},
              {"products", Json::object()}};
  for (size_t g = 0; g < errors.groups.size(); ++g)
    out["groups"].push_back({{"name", errors.groups[g]}, {"pytorch", errors.pytorch[g]}});
  for (const auto& [name, place] : errors.values)
    out["values"][name] = {{"largest", place.largest}, {"shares", shares_json(place)}};
  for (const auto& [name, product] : errors.products) {
    Json& entry = out["products"][name] = {{"module", product.module}, {"operands", Json::array()}};
    for (const MeasuredErrors::Place& place : product.operands)
      entry["operands"].push_back(shares_json(place));
  }
  return out;
}

Result<MeasuredErrors> measured_errors(const Json& json) {
  for (const char* key : {"groups", "values", "products"})
    if (!json.is_object() || !json.contains(key)) return not_readable();
  MeasuredErrors out;
  if (json.contains("kinds") && json["kinds"].is_number_integer()) out.kinds = json["kinds"].get<int>();
  for (const Json& group : json["groups"]) {
    if (!group.is_object()) return not_readable();
    out.groups.push_back(word(group, "name"));
    out.pytorch.push_back(group.contains("pytorch") ? number(group["pytorch"]) : std::nan(""));
  }
  for (const auto& [name, entry] : json["values"].items()) {
    if (!entry.is_object() || !entry.contains("shares") || !entry.contains("largest")) return not_readable();
    STITCH_TRY(MeasuredErrors::Place place, place_of(entry["shares"], out.groups.size()));
    place.largest = number(entry["largest"]);
    out.values.emplace(name, std::move(place));
  }
  for (const auto& [name, entry] : json["products"].items()) {
    if (!entry.is_object() || !entry.contains("operands") || !entry["operands"].is_array())
      return not_readable();
    MeasuredErrors::Product product{.module = word(entry, "module"), .operands = {}};
    for (const Json& operand : entry["operands"]) {
      STITCH_TRY(MeasuredErrors::Place place, place_of(operand, out.groups.size()));
      product.operands.push_back(std::move(place));
    }
    out.products.emplace(name, std::move(product));
  }
  return out;
}

}  // namespace stitch::plan
