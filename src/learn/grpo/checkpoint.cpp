#include "learn/grpo/checkpoint.h"

#include <cmath>
#include <cstring>

#include "graph/safetensors.h"

namespace stitch::learn {

namespace {

constexpr int most_layers = 16, most_members = 64;
constexpr int64_t most_width = 4096;

template <class T>
TensorBytes tensor(DType dtype, Shape shape, std::span<const T> values) {
  return {{dtype, std::move(shape), {}}, std::as_bytes(values)};
}
template <class T>
TensorBytes row(DType dtype, std::span<const T> values) {
  return tensor(dtype, {static_cast<int64_t>(values.size())}, values);
}

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
    return user_error("weights", "not a policy: its last layer must have one output",
                      "give a file that stitchcuda train wrote");
  return std::optional(Scorer(std::move(shape), std::move(parameters)));
}

Result<PolicyFile> policy_in(const Safetensors& file) {
  PolicyFile out;
  for (int member = 0; member < most_members; ++member) {
    STITCH_TRY(std::optional<Scorer> read, member_in(file, member));
    if (!read) break;
    if (!out.members.empty() && read->shape() != out.members[0].shape())
      return user_error("weights", format("network {} has a different shape than the first", member));
    out.members.push_back(*std::move(read));
  }
  if (out.members.empty())
    return user_error("weights", "no policy in this file", "give a file that stitchcuda train wrote");
  STITCH_TRY(out.about, read_about(file));
  return out;
}

}  // namespace

Result<void> write_checkpoint(const fs::path& file, const Trainer& trainer, const std::string& about) {
  std::vector<int64_t> widths(trainer.policy().shape().widths.begin(), trainer.policy().shape().widths.end());
  const std::vector<int64_t> state = {trainer.steps(), trainer.adam().steps};
  // Before its first step Adam has no state.
  std::vector<double> means = trainer.adam().means, squares = trainer.adam().squares;
  means.resize(trainer.policy().parameters().size(), 0.0);
  squares.resize(means.size(), 0.0);
  return write_safetensors(file, {{"state", row<int64_t>(DType::i64, state)},
                                  {"widths", row<int64_t>(DType::i64, widths)},
                                  {"policy", row<double>(DType::f64, trainer.policy().parameters())},
                                  {"reference", row<double>(DType::f64, trainer.reference().parameters())},
                                  {"adam.means", row<double>(DType::f64, means)},
                                  {"adam.squares", row<double>(DType::f64, squares)},
                                  {"about", row<char>(DType::u8, std::span(about.data(), about.size()))}});
}

Result<Checkpoint> read_checkpoint(const fs::path& file) {
  auto read = [&]() -> Result<Checkpoint> {
    STITCH_TRY(Safetensors opened, Safetensors::open(file));
    STITCH_TRY(auto state, read_row<int64_t>(opened, "state", DType::i64));
    STITCH_TRY(auto widths, read_row<int64_t>(opened, "widths", DType::i64));
    STITCH_TRY(auto policy, read_row<double>(opened, "policy", DType::f64));
    STITCH_TRY(auto reference, read_row<double>(opened, "reference", DType::f64));
    Adam adam;
    STITCH_TRY(adam.means, read_row<double>(opened, "adam.means", DType::f64));
    STITCH_TRY(adam.squares, read_row<double>(opened, "adam.squares", DType::f64));
    STITCH_TRY(std::string about, read_about(opened));
    ScorerShape shape;
    for (int64_t width : widths)
      if (width >= 1 && width <= most_width) shape.widths.push_back(static_cast<int>(width));
    if (state.size() != 2 || state[0] < 0 || widths.empty() || widths.size() > most_layers ||
        shape.widths.size() != widths.size() || policy.size() != shape.parameters() ||
        reference.size() != policy.size() || adam.means.size() != policy.size() ||
        adam.squares.size() != policy.size())
      return user_error("checkpoint", "its tensors have inconsistent shapes");
    adam.steps = state[1];
    return Checkpoint{Scorer(shape, std::move(policy)), Scorer(shape, std::move(reference)), std::move(adam),
                      state[0], std::move(about)};
  };
  auto out = read();
  if (!out) return at(file.string(), std::move(out).error());
  return out;
}

Result<void> write_policy(const fs::path& file, std::span<const Scorer> members, const std::string& about) {
  std::vector<std::vector<float>> values;  // what the tensors below point to
  for (const Scorer& each : members) values.emplace_back(each.parameters().begin(), each.parameters().end());
  std::vector<std::pair<std::string, TensorBytes>> tensors;
  for (size_t member = 0; member < members.size(); ++member) {
    const std::vector<int>& widths = members[member].shape().widths;
    const std::span<const float> all(values[member]);
    size_t from = 0;
    for (size_t i = 0; i < widths.size(); ++i) {
      const int64_t in = widths[i], out = i + 1 < widths.size() ? widths[i + 1] : 1;
      const std::string prefix = format("members.{}.layers.{}.", member, i);
      tensors.emplace_back(
          prefix + "weight",
          tensor<float>(DType::f32, {in, out}, all.subspan(from, static_cast<size_t>(in * out))));
      from += static_cast<size_t>(in * out);
      tensors.emplace_back(prefix + "bias",
                           tensor<float>(DType::f32, {out}, all.subspan(from, static_cast<size_t>(out))));
      from += static_cast<size_t>(out);
    }
  }
  tensors.emplace_back("about", row<char>(DType::u8, std::span(about.data(), about.size())));
  return write_safetensors(file, tensors);
}

Result<PolicyFile> read_policy(const fs::path& file) {
  STITCH_TRY(Safetensors opened, Safetensors::open(file));
  auto out = policy_in(opened);
  if (!out) return at(file.string(), std::move(out).error());
  return out;
}

Result<PolicyFile> parse_policy(std::span<const std::byte> bytes) {
  STITCH_TRY(Safetensors opened, Safetensors::parse(bytes));
  return policy_in(opened);
}

}  // namespace stitch::learn
