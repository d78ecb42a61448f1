// An op's constants. Their names, kinds and defaults are in the op's registry entry; a node always holds all
// of them, in that order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/type.h"

namespace stitch {

// In the order of AttributeKind.
using AttributeValue =
    std::variant<bool, int64_t, double, std::string, DType, std::vector<int64_t>, std::vector<double>>;
enum class AttributeKind : uint8_t { flag, integer, number, text, dtype, integers, numbers };

inline AttributeKind kind_of(const AttributeValue& value) {
  return static_cast<AttributeKind>(value.index());
}
std::string_view name(AttributeKind kind);
std::string text(const AttributeValue& value);
// Bitwise equality: NaN equals NaN, and 0.0 differs from -0.0.
bool same(const AttributeValue& a, const AttributeValue& b);

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries) : entries_(entries) {}

  const AttributeValue* find(std::string_view name) const;
  void set(std::string_view name, AttributeValue value);

  // The value under a name that the registry promises; anything else is a bug.
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;
  const std::vector<double>& numbers(std::string_view name) const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool operator==(const Attributes& other) const;

 private:
  std::vector<std::pair<std::string, AttributeValue>> entries_;
};

}  // namespace stitch
