#include "base/text.h"
#include "program/package.h"

namespace stitch {

Result<ShipWeights> parse_ship_weights(const std::string& name) {
  if (name == "auto") return ShipWeights::automatic;
  if (name == "always") return ShipWeights::always;
  if (name == "never") return ShipWeights::never;
  return user_error("weights", format("unknown --weights value '{}'", name), "one of: auto, always, never");
}

Result<void> add_weights(PackageContents& contents, const std::shared_ptr<const Safetensors>& weights,
                         ShipWeights when) {
  contents.weights.clear();
  contents.weights_left_out.clear();
  if (when == ShipWeights::never) {
    contents.weights_left_out = "they were not asked for";
    return {};
  }
  double bytes = 0;
  for (const auto* side : {&contents.manifest.signature.parameters, &contents.manifest.signature.inputs})
    for (const ManifestTensor& tensor : *side) {
      if (tensor.data.empty() || tensor.role == "constant") continue;
      const TensorBytes* found = weights ? weights->find(tensor.data) : nullptr;
      if (!found) {
        contents.weights.clear();
        if (when == ShipWeights::always)
          return user_error("weights", format("'{}' is not among the model's weights", tensor.data),
                            "import the model again, with weights");
        contents.weights_left_out = "the model was imported without";
        return {};
      }
      // A weight that is read under two names is there once.
      bool there = false;
      for (const auto& [key, ignored] : contents.weights) there |= key == tensor.data;
      if (there) continue;
      contents.weights.emplace_back(tensor.data, *found);
      bytes += static_cast<double>(found->bytes.size());
    }
  contents.weights_owner = weights;
  if (when == ShipWeights::always || bytes <= most_weights_shipped) return {};
  contents.weights.clear();
  contents.weights_left_out =
      format("{}, more than the {} that are shipped unless `--weights always` asks for them",
             bytes_text(bytes), bytes_text(most_weights_shipped));
  return {};
}

}  // namespace stitch
