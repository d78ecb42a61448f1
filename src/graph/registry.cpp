#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "base/text.h"
#include "graph/op.h"
#include "graph/ops/families.h"

namespace stitch {

namespace {

std::vector<OpInfo> collect() {
  std::vector<OpInfo> all;
  for (auto* family : {ops::unary, ops::binary, ops::reductions, ops::scans, ops::normalizations,
                       ops::linear_algebra, ops::convolutions, ops::pools, ops::sequences, ops::views,
                       ops::movements, ops::indexing, ops::creation})
    std::ranges::move(family(), std::back_inserter(all));
  std::ranges::sort(all, {}, &OpInfo::op);
  require(all.size() == op_count, "every op has one registry entry");
  for (int i = 0; i < op_count; ++i)
    require(static_cast<int>(all[static_cast<size_t>(i)].op) == i, "every op has one registry entry");
  return all;
}

const std::vector<OpInfo>& registry() {
  static const std::vector<OpInfo> all = collect();
  return all;
}

}  // namespace

std::string_view name(Family family) {
  constexpr std::array<std::string_view, 12> names = {
      "pointwise", "reduce",   "scan", "normalize", "linear algebra", "convolution",
      "pool",      "sequence", "view", "movement",  "indexing",       "create"};
  return names[static_cast<size_t>(family)];
}

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  matrix_flops += other.matrix_flops;
  bytes += other.bytes;
  return *this;
}

size_t OpInfo::required_operands() const {
  return static_cast<size_t>(std::ranges::count(operands, OperandSpec::required, &OperandSpec::kind));
}

const OpInfo& info(Op op) { return registry()[static_cast<size_t>(op)]; }

std::span<const OpInfo> all_ops() { return registry(); }

const OpInfo* find_op(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const OpInfo*> map;
    for (const OpInfo& entry : registry()) map[entry.name] = &entry;
    return map;
  }();
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

Result<Attributes> complete(const OpInfo& info, const Attributes& given) {
  Attributes out;
  size_t used = 0;
  for (const AttributeSpec& spec : info.attributes) {
    const AttributeValue* value = given.find(spec.name);
    if (!value && spec.required) return ops::ill(format("{} needs the attribute '{}'", info.name, spec.name));
    if (!value) {
      out.set(spec.name, spec.value);
      continue;
    }
    ++used;
    AttributeKind wanted = kind_of(spec.value);
    if (wanted == AttributeKind::number && kind_of(*value) == AttributeKind::integer)
      out.set(spec.name, static_cast<double>(std::get<int64_t>(*value)));
    else if (kind_of(*value) != wanted)
      return ops::ill(format("{}'s attribute '{}' is {}, not {}", info.name, spec.name, name(wanted),
                             name(kind_of(*value))));
    else
      out.set(spec.name, *value);
  }
  if (used == given.size()) return out;
  std::vector<std::string> known;
  for (const AttributeSpec& spec : info.attributes) known.emplace_back(spec.name);
  for (const auto& [key, value] : given)
    if (!out.find(key))
      return ops::ill(known.empty()
                          ? format("{} has no attributes, so none named '{}'", info.name, key)
                          : format("{} has no attribute '{}', only {}", info.name, key, join(known, ", ")));
  return ops::ill(format("{} has an attribute twice", info.name));
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return ops::ill(format("the shapes {} and {} don't broadcast", text(a), text(b)));
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

namespace ops {

Result<int64_t> dimension(int64_t dim, int64_t rank) {
  int64_t span = std::max<int64_t>(rank, 1);
  if (dim < -span || dim >= span) return ill(format("dimension {} of a tensor of rank {}", dim, rank));
  return dim < 0 ? dim + span : dim;
}

Result<void> need_floating(const TensorType& type, std::string_view what) {
  if (is_floating(type.dtype)) return {};
  return ill(format("{} must be floating-point, not {}", what, name(type.dtype)));
}

Result<void> need_integer(const TensorType& type, std::string_view what) {
  if (is_integer(type.dtype)) return {};
  return ill(format("{} must be integers, not {}", what, name(type.dtype)));
}

Result<void> need_same_dtype(const TensorType& a, const TensorType& b, std::string_view what) {
  if (a.dtype == b.dtype) return {};
  Error error = ill(format("{} is {} where {} is needed", what, name(b.dtype), name(a.dtype)));
  error.fix = "convert one of the two, in the model or among its inputs: x.to(other.dtype)";
  return error;
}

Result<void> need_shape(const TensorType& type, const Shape& shape, std::string_view what) {
  if (type.shape == shape) return {};
  return ill(format("{} has the shape {}, not {}", what, text(type.shape), text(shape)));
}

Result<void> need_fit(const Shape& shape) {
  if (shape_fits(shape)) return {};
  return ill(format("the shape {} is not a usable one (negative, over 16 dimensions or 2^48 elements)",
                    text(shape)));
}

double traffic(OperandTypes operands, const ResultTypes& results) {
  double bytes = 0;
  for (const TensorType* type : operands)
    if (type) bytes += static_cast<double>(type->bytes());
  for (const TensorType& type : results) bytes += static_cast<double>(type.bytes());
  return bytes;
}

Cost free_of_cost(OperandTypes, const Attributes&, const ResultTypes&) { return {}; }

Cost only_traffic(OperandTypes operands, const Attributes&, const ResultTypes& results) {
  return {.bytes = traffic(operands, results)};
}

Cost per_result(OperandTypes operands, const Attributes&, const ResultTypes& results) {
  return {.flops = elements(&results[0]), .bytes = traffic(operands, results)};
}

Cost per_operand(OperandTypes operands, const Attributes&, const ResultTypes& results) {
  return {.flops = elements(operands[0]), .bytes = traffic(operands, results)};
}

}  // namespace ops
}  // namespace stitch
