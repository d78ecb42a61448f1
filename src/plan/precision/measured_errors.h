// How rounding at each place affects a model's outputs, measured with the reference. All numbers are squared
// errors in units of the class's allowed error, so that they add up and 1 is the whole budget.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace stitch::plan {

// The precision that numbers are rounded to.
enum class Precision : uint8_t { f32, tf32, f16, bf16 };
std::string_view name(Precision precision);

// Of one place and one group of outputs.
struct RoundingShares {
  double tf32 = 0, f16 = 0, bf16 = 0;
  double scale = 0;  // the error of a relative change of 1 shared by all elements of a sample

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

// All of them so many times as large.
MeasuredErrors scaled(MeasuredErrors errors, double times);

Json to_json(const MeasuredErrors& errors);
Result<MeasuredErrors> measured_errors(const Json& json);

}  // namespace stitch::plan
