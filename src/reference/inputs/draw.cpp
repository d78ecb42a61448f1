#include "reference/inputs/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include "oracle/philox.h"
#include "oracle/tensor.h"

namespace stitch::verifier {

namespace {

struct Draw {
  uint64_t seed;
  int64_t stream;

  double uniform(int64_t i) const {
    return oracle::uniform(oracle::random_bits(static_cast<int64_t>(seed), stream, i)[0], 53);
  }
  double normal(int64_t i) const {
    auto [a, b] = oracle::random_bits(static_cast<int64_t>(seed), stream, i);
    return std::sqrt(-2 * std::log(1 - oracle::uniform(a, 53))) *
           std::cos(2 * std::numbers::pi * oracle::uniform(b, 53));
  }
};

// One index along each dimension is all zeros, and the next one small. What has just one row is zeros
// altogether.
void plant_zeros(const Draw& draw, const Shape& shape, std::span<double> values) {
  const std::vector<int64_t> strides = contiguous_strides(shape);
  const auto wide = std::ranges::count_if(shape, [](int64_t size) { return size > 1; });
  if (wide < 2) {
    std::ranges::fill(values, 0.0);
    return;
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t size = shape[axis];
    if (size < 2) continue;
    const auto chosen =
        static_cast<int64_t>(draw.uniform(static_cast<int64_t>(axis)) * static_cast<double>(size));
    const double scale = std::exp2(-6 - 6 * draw.uniform(static_cast<int64_t>(axis) + 64));
    for (int64_t i = 0; i < std::ssize(values); ++i) {
      const int64_t at = i / strides[axis] % size;
      if (at == chosen) values[static_cast<size_t>(i)] = 0;
      if (size > 2 && at == (chosen + 1) % size) values[static_cast<size_t>(i)] *= scale;
    }
  }
}

// A mean a thousand times the deviation: everywhere, or by the seed in some samples or channels, so that no
// part tells of the others.
void plant_offset(uint64_t seed, const Draw& draw, const Shape& shape, std::span<double> values) {
  const auto part = static_cast<size_t>(seed % parts);
  const bool whole = part == 0 || part > shape.size() || shape[part - 1] < 2;
  const int64_t size = whole ? 1 : shape[part - 1], stride = whole ? 1 : contiguous_strides(shape)[part - 1];
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t at = i / stride % size;
    const bool chosen = whole || at == size - 1 || (at > 0 && draw.uniform(at) < 0.5);
    if (chosen) values[static_cast<size_t>(i)] = 1 + 1e-3 * values[static_cast<size_t>(i)];
  }
}

void plant_ends_by(const Draw& draw, const Shape& shape, std::span<double> values) {
  if (shape.empty()) return;
  const std::vector<int64_t> strides = contiguous_strides(shape);
  std::vector<int64_t> lines(shape.size());
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t sample = i / strides[0];
    const size_t axis = shape.size() > 2 && sample % 2 ? 1 : shape.size() - 1;
    const int64_t size = shape[axis], tail = std::min<int64_t>(size, 32);
    if (size < 2 || i / strides[axis] % size != 0) continue;  // the first of its line stands for all of it
    const int64_t line = lines[axis]++;
    if (line % 4 == 3) continue;
    const auto back = static_cast<int64_t>(draw.uniform(i) * static_cast<double>(tail));
    const int64_t at = line % 4 == 0 ? size - 1 : line % 4 == 1 ? size - 1 - back : 0;
    values[static_cast<size_t>(i + at * strides[axis])] = 100 + 100 * draw.uniform(i + (int64_t{1} << 40));
  }
}

// As the task's own, but for a few patches at secret places.
void plant_patches(const Draw& draw, const Shape& shape, std::span<double> values) {
  constexpr int64_t patches = 6, least_share = 16;
  const auto count = std::ssize(values);
  const int64_t longest =
      std::max<int64_t>(1, std::min(shape.empty() ? 1 : shape.back(), count / least_share));
  for (int64_t patch = 0; patch < patches; ++patch) {
    const auto begin = static_cast<int64_t>(draw.uniform(2 * patch) * static_cast<double>(count)),
               length = 1 + static_cast<int64_t>(draw.uniform(2 * patch + 1) * static_cast<double>(longest));
    for (int64_t i = begin; i < std::min(count, begin + length); ++i) {
      double& value = values[static_cast<size_t>(i)];
      value = patch % 3 == 0   ? std::copysign(100 + 100 * std::fabs(value), value)
              : patch % 3 == 1 ? 0
                               : value * 0x1p-12;
    }
  }
}

// Zeros from a secret index on along a dimension.
void cut_off(uint64_t seed, const Shape& shape, size_t axis, std::span<double> values) {
  if (shape.size() <= axis || shape[axis] < 2) return;
  const int64_t size = shape[axis], stride = contiguous_strides(shape)[axis];
  // The same of all inputs.
  const double part = static_cast<double>(seed % parts) + Draw{seed, -1}.uniform(0);
  const int64_t kept = 1 + static_cast<int64_t>(part / parts * static_cast<double>(size - 1));
  for (int64_t i = 0; i < std::ssize(values); ++i)
    if (i / stride % size >= kept) values[static_cast<size_t>(i)] = 0;
}

// One input far larger than the others: what is added to something large shows only so.
double uneven_scale(const Graph& graph, ValueId input, uint64_t seed) {
  constexpr double by = 64;
  std::vector<ValueId> numbers;
  for (ValueId id : graph.inputs())
    if (is_floating(graph.type(id).dtype)) numbers.push_back(id);
  if (numbers.empty()) return 1;
  const uint64_t which = numbers.size() <= parts ? seed % parts : seed / parts;
  return numbers[which % numbers.size()] == input ? by : 1 / by;
}

double draw_number(const Draw& draw, std::string_view distribution, int64_t i, int64_t sample,
                   int64_t elements) {
  if (distribution == "normal" || distribution == harsh::offset || distribution == harsh::zeros ||
      distribution == harsh::ends || distribution == harsh::prefix || distribution == harsh::inner_prefix)
    return draw.normal(i);
  if (distribution == "shifted") return 4 * draw.uniform(i) - 2;
  if (distribution == "scaled") {
    Draw of_sample{draw.seed + 1, draw.stream};
    return std::exp2(6 * of_sample.uniform(sample) - 3) * draw.normal(i) +
           of_sample.normal(sample + (1 << 20));
  }
  if (distribution == harsh::large) return 100 * draw.normal(i);
  if (distribution == harsh::low) {
    constexpr std::array<double, parts> sizes = {100, 1e4, 1e6, -1e4};
    return -sizes[draw.seed % parts] - 100 * draw.uniform(i);
  }
  if (distribution == harsh::small) return 1e-4 * draw.normal(i);
  if (distribution == harsh::ties) return std::floor(5 * draw.uniform(i)) / 2 - 1;
  if (distribution == "outliers") {
    // Some at least, each far outside, and none whose exponential overflows.
    Draw planted{draw.seed + 2, draw.stream};
    const double share = std::max(1e-3, 8 / static_cast<double>(std::max<int64_t>(elements, 8)));
    if (planted.uniform(i) >= share) return draw.uniform(i);
    const double normal = draw.normal(i);
    return std::copysign(34 + 12 * std::fabs(normal), normal);
  }
  return draw.uniform(i);
}

}  // namespace

std::optional<int64_t> index_bound(const Graph& graph, ValueId input, bool unguarded) {
  std::vector<bool> carries(graph.values.size());
  carries[index_of(input)] = true;
  std::optional<int64_t> bound;
  // Of what is indexed, the dimension that it is indexed along.
  auto narrow = [&](const Node& node) {
    const Shape& shape = graph.type(node.operands[0]).shape;
    std::vector<int64_t> dims;
    if (node.attributes.find("dims"))
      dims = node.attributes.integers("dims");
    else if (node.attributes.find("dim"))
      dims = {node.attributes.integer("dim")};
    for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
      const bool is_indexed = dims.empty() || std::ranges::any_of(dims, [&](int64_t dim) {
                                return dim == axis || dim == axis - std::ssize(shape);
                              });
      if (!is_indexed) continue;
      const int64_t size = std::max<int64_t>(1, shape[static_cast<size_t>(axis)]);
      bound = std::min(bound.value_or(size), size);
    }
  };
  constexpr std::array guards = {Op::where, Op::clamp, Op::minimum, Op::maximum, Op::remainder};
  for (const Node& node : graph.nodes) {
    bool reads = std::ranges::any_of(
        node.operands, [&](ValueId id) { return id != ValueId::none && carries[index_of(id)]; });
    if (!reads || (unguarded && std::ranges::find(guards, node.op) != guards.end())) continue;
    Family family = info(node.op).family;
    if (family == Family::indexing)
      narrow(node);
    else if (family != Family::linear_algebra)
      for (ValueId id : node.results)
        if (!is_floating(graph.type(id).dtype) && (!unguarded || graph.type(id).dtype != DType::boolean))
          carries[index_of(id)] = true;
  }
  return bound;
}

void plant_ends(uint64_t seed, const Shape& shape, std::span<double> values) {
  plant_ends_by(Draw{seed, 0}, shape, values);
}

std::vector<std::string> drawn_distributions() {
  return {"normal",
          "scaled",
          "outliers",
          "shifted",
          std::string(harsh::large),
          std::string(harsh::offset),
          std::string(harsh::ties),
          std::string(harsh::zeros),
          std::string(harsh::ends),
          std::string(harsh::patches),
          std::string(harsh::prefix),
          std::string(harsh::inner_prefix),
          std::string(harsh::low),
          std::string(harsh::small),
          std::string(harsh::uneven)};
}

std::vector<std::byte> draw_input(const Graph& graph, ValueId input, std::string_view distribution,
                                  uint64_t seed) {
  const TensorType& type = graph.type(input);
  oracle::Tensor tensor(type.dtype, type.shape);
  Draw draw{seed, static_cast<int64_t>(index_of(input))};
  int64_t elements = tensor.elements(),
          per_sample = type.shape.empty() ? 1 : elements / std::max<int64_t>(type.shape[0], 1);
  if (tensor.floating()) {
    double* to = tensor.writable<double>();
    for (int64_t i = 0; i < elements; ++i)
      to[i] = draw_number(draw, distribution, i, i / std::max<int64_t>(per_sample, 1), elements);
    const Draw planted{seed + 3, draw.stream};
    const std::span<double> all(to, static_cast<size_t>(elements));
    if (distribution == harsh::offset) plant_offset(seed, planted, type.shape, all);
    if (distribution == harsh::zeros) plant_zeros(planted, type.shape, all);
    if (distribution == harsh::ends) plant_ends_by(planted, type.shape, all);
    if (distribution == harsh::patches) plant_patches(planted, type.shape, all);
    if (distribution == harsh::prefix) cut_off(seed, type.shape, 0, all);
    if (distribution == harsh::inner_prefix) cut_off(seed, type.shape, 1, all);
    if (distribution == harsh::uneven)
      for (double& value : all) value *= uneven_scale(graph, input, seed);
  } else {
    const int64_t bound = type.dtype == DType::boolean ? 2 : index_bound(graph, input).value_or(2);
    int64_t* to = tensor.writable<int64_t>();
    for (int64_t i = 0; i < elements; ++i)
      to[i] = static_cast<int64_t>(draw.uniform(i) * static_cast<double>(bound));
  }
  return tensor.to_bytes();
}

}  // namespace stitch::verifier
