#include "learn/coder/propose.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/safetensors.h"

namespace stitch::learn {

namespace {

double silu(double sum) { return sum / (1 + std::exp(-sum)); }

size_t outputs_of(const ScorerShape& shape, size_t layer) {
  return layer + 1 < shape.widths.size() ? static_cast<size_t>(shape.widths[layer + 1]) : 1;
}

}  // namespace

size_t ScorerShape::parameters() const {
  size_t count = 0;
  for (size_t i = 0; i < widths.size(); ++i)
    count += (static_cast<size_t>(widths[i]) + 1) * outputs_of(*this, i);
  return count;
}

Scorer::Scorer(ScorerShape shape, std::vector<double> parameters)
    : shape_(std::move(shape)), parameters_(std::move(parameters)) {
  require(!shape_.widths.empty() && std::ranges::min(shape_.widths) > 0, "a scorer has features");
  require(parameters_.size() == shape_.parameters(), "a scorer's parameters fit its shape");
}

// Sums go along rows of the weights, not across them: the compiler vectorises them as they are. Features that
// are zero, as most of those that stand for names, cost nothing.
std::vector<double> Scorer::score(std::span<const float> rows) const {
  const auto features = static_cast<size_t>(shape_.features());
  require(rows.size() % features == 0, "rows of features are whole");
  const size_t count = rows.size() / features;
  std::vector<double> values(rows.begin(), rows.end());
  const double* weights = parameters_.data();
  for (size_t layer = 0; layer < shape_.widths.size(); ++layer) {
    const auto in = static_cast<size_t>(shape_.widths[layer]);
    const size_t out = outputs_of(shape_, layer);
    const double* biases = weights + in * out;
    std::vector<double> sums(count * out);
    for (size_t r = 0; r < count; ++r) {
      double* sum = sums.data() + r * out;
      std::copy_n(biases, out, sum);
      for (size_t i = 0; i < in; ++i) {
        const double value = values[r * in + i];
        if (value == 0) continue;
        const double* row = weights + i * out;
        for (size_t o = 0; o < out; ++o) sum[o] += value * row[o];
      }
    }
    weights = biases + out;
    values = std::move(sums);
    if (layer + 1 < shape_.widths.size()) std::ranges::transform(values, values.begin(), silu);
  }
  return values;
}

namespace {

constexpr int most_layers = 16, most_members = 64;
constexpr int64_t most_width = 4096;

template <class T>
Result<std::vector<T>> read_row(const Safetensors& file, const std::string& name, DType dtype) {
  const TensorBytes* found = file.find(name);
  if (!found || found->type.dtype != dtype)
    return user_error("weights", format("tensor '{}' is missing or has another type", name));
  std::vector<T> out(found->bytes.size() / sizeof(T));
  std::memcpy(out.data(), found->bytes.data(), found->bytes.size());
  if constexpr (std::is_floating_point_v<T>)
    for (T value : out)
      if (!std::isfinite(value))
        return user_error("weights", format("'{}' has a NaN or infinite value", name));
  return out;
}

Result<std::string> read_about(const Safetensors& file) {
  STITCH_TRY(auto bytes, read_row<char>(file, "about", DType::u8));
  return std::string(bytes.begin(), bytes.end());
}

// Nothing: there is no such member.
Result<std::optional<Scorer>> member_in(const Safetensors& file, int member) {
  ScorerShape shape;
  std::vector<double> parameters;
  for (int layer = 0; layer < most_layers; ++layer) {
    auto prefix_of = [&](int which) { return format("members.{}.layers.{}.", member, which); };
    const std::string prefix = prefix_of(layer);
    const TensorBytes* weight = file.find(prefix + "weight");
    if (!weight) break;
    if (weight->type.rank() != 2 || weight->type.shape[0] < 1 || weight->type.shape[0] > most_width ||
        weight->type.shape[1] < 1 || weight->type.shape[1] > most_width)
      return user_error("weights", format("'{}weight' is not a layer", prefix));
    STITCH_TRY(auto weights, read_row<float>(file, prefix + "weight", DType::f32));
    STITCH_TRY(auto biases, read_row<float>(file, prefix + "bias", DType::f32));
    const int64_t in = weight->type.shape[0], out = weight->type.shape[1];
    if (static_cast<int64_t>(biases.size()) != out ||
        (layer > 0 && file.find(prefix_of(layer - 1) + "weight")->type.shape[1] != in))
      return user_error("weights", format("the shape of layer {} doesn't match its neighbours", layer));
    shape.widths.push_back(static_cast<int>(in));
    parameters.insert(parameters.end(), weights.begin(), weights.end());
    parameters.insert(parameters.end(), biases.begin(), biases.end());
  }
  if (shape.widths.empty()) return std::optional<Scorer>();
  if (parameters.size() != shape.parameters())
    return user_error("weights", "not a network: its last layer must have one output",
                      "give a file that stitchcuda train wrote");
  return std::optional(Scorer(std::move(shape), std::move(parameters)));
}

Result<WeightsFile> weights_in(const Safetensors& file) {
  WeightsFile out;
  for (int member = 0; member < most_members; ++member) {
    STITCH_TRY(std::optional<Scorer> read, member_in(file, member));
    if (!read) break;
    if (!out.members.empty() && read->shape() != out.members[0].shape())
      return user_error("weights", format("network {} has a different shape than the first", member));
    out.members.push_back(*std::move(read));
  }
  if (out.members.empty())
    return user_error("weights", "no network in this file", "give a file that stitchcuda train wrote");
  STITCH_TRY(out.about, read_about(file));
  return out;
}

}  // namespace

Result<WeightsFile> read_weights(const fs::path& file) {
  STITCH_TRY(Safetensors opened, Safetensors::open(file));
  auto out = weights_in(opened);
  if (!out) return at(file.string(), std::move(out).error());
  return out;
}

Result<WeightsFile> parse_weights(std::span<const std::byte> bytes) {
  STITCH_TRY(Safetensors opened, Safetensors::parse(bytes));
  return weights_in(opened);
}

}  // namespace stitch::learn
