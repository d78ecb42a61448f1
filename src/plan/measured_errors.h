// What rounding does to a model's outputs, place by place, as a reference measured it. All numbers are
// squares of errors in units of what the numerics class allows, so that they add up and 1 is everything.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace stitch::plan {

// What numbers are rounded to.
enum class Precision : uint8_t { f32, tf32, f16, bf16 };
std::string_view name(Precision precision);

// Of one place and one group of outputs.
struct RoundingShares {
  double tf32 = 0, f16 = 0, bf16 = 0;
  double scale = 0;  // of a relative change of 1 that all elements of a sample share

  double of(Precision precision) const;
  bool operator==(const RoundingShares&) const = default;
};

struct MeasuredErrors {
  struct Place {
    std::vector<RoundingShares> groups;
    double largest = 0;  // |element|

    bool operator==(const Place&) const = default;
  };
  struct Product {
    std::string module;  // of the model's
    std::vector<Place> operands;

    bool operator==(const Product&) const = default;
  };

  int kinds = 1;                    // of inputs and weights that were measured; each has groups of its own
  std::vector<std::string> groups;  // outputs that are judged together
  std::vector<double> pytorch;      // PyTorch's own error, by group
  std::map<std::string, Place, std::less<>> values;      // stored rounded
  std::map<std::string, Product, std::less<>> products;  // operands rounded; by the name of the result

  // A product by the name of its result, or by its module, where passes gave the result another name.
  const Product* product(std::string_view result, std::string_view module) const;
  bool operator==(const MeasuredErrors&) const = default;
};

Json to_json(const MeasuredErrors& errors);
Result<MeasuredErrors> measured_errors(const Json& json);

}  // namespace stitch::plan
