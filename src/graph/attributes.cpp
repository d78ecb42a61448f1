#include "graph/attributes.h"

#include <algorithm>
#include <bit>

#include "base/result.h"
#include "base/text.h"

namespace stitch {

std::string_view name(AttributeKind kind) {
  constexpr std::string_view names[] = {"a flag",  "an integer",         "a number",         "a word",
                                        "a dtype", "a list of integers", "a list of numbers"};
  return names[static_cast<size_t>(kind)];
}

std::string text(const AttributeValue& value) {
  switch (kind_of(value)) {
    case AttributeKind::flag: return std::get<bool>(value) ? "true" : "false";
    case AttributeKind::integer: return std::to_string(std::get<int64_t>(value));
    case AttributeKind::number: return number_text(std::get<double>(value));
    case AttributeKind::text: return quote(std::get<std::string>(value));
    case AttributeKind::dtype: return std::string(name(std::get<DType>(value)));
    case AttributeKind::integers: return text(std::get<std::vector<int64_t>>(value));
    case AttributeKind::numbers: {
      std::vector<std::string> parts;
      for (double number : std::get<std::vector<double>>(value)) parts.push_back(number_text(number));
      return "[" + join(parts, ",") + "]";
    }
  }
  throw Bug("unknown attribute kind");
}

bool same(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  auto bits_equal = [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  };
  if (const double* x = std::get_if<double>(&a)) return bits_equal(*x, std::get<double>(b));
  if (const auto* x = std::get_if<std::vector<double>>(&a))
    return std::ranges::equal(*x, std::get<std::vector<double>>(b), bits_equal);
  return a == b;
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

void Attributes::set(std::string_view name, AttributeValue value) {
  for (auto& [key, old] : entries_)
    if (key == name) {
      old = std::move(value);
      return;
    }
  entries_.emplace_back(name, std::move(value));
}

namespace {
template <class T>
const T& get(const Attributes& attributes, std::string_view name) {
  const AttributeValue* value = attributes.find(name);
  if (!value) throw Bug(format("no attribute '{}'", name));
  const T* typed = std::get_if<T>(value);
  if (!typed) throw Bug(format("attribute '{}' is {}", name, stitch::name(kind_of(*value))));
  return *typed;
}
}  // namespace

bool Attributes::flag(std::string_view name) const { return get<bool>(*this, name); }
int64_t Attributes::integer(std::string_view name) const { return get<int64_t>(*this, name); }
double Attributes::number(std::string_view name) const { return get<double>(*this, name); }
const std::string& Attributes::text(std::string_view name) const { return get<std::string>(*this, name); }
DType Attributes::dtype(std::string_view name) const { return get<DType>(*this, name); }
const std::vector<int64_t>& Attributes::integers(std::string_view name) const {
  return get<std::vector<int64_t>>(*this, name);
}

const std::vector<double>& Attributes::numbers(std::string_view name) const {
  return get<std::vector<double>>(*this, name);
}

bool Attributes::operator==(const Attributes& other) const {
  return std::ranges::equal(entries_, other.entries_, [](const auto& a, const auto& b) {
    return a.first == b.first && same(a.second, b.second);
  });
}

}  // namespace stitch
