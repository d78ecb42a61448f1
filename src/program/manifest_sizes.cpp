#include "base/text.h"
#include "program/manifest.h"

namespace stitch {

std::vector<SizedType> sized_types(Manifest& manifest) {
  std::vector<SizedType> out;
  auto add = [&](std::string_view name, auto& of) { out.push_back({name, &of.type, &of.formulas}); };
  for (auto* tensors : {&manifest.signature.inputs, &manifest.signature.outputs})
    for (ManifestTensor& each : *tensors) add(each.name, each);
  for (ManifestRegion& region : manifest.regions)
    for (auto* slots : {&region.reads, &region.writes})
      for (Slot& each : *slots) add(each.value, each);
  return out;
}

Result<Sizes> sizes_shown(const Manifest& manifest, const Signature& call) {
  Sizes out;
  for (const Dimension& dimension : manifest.dimensions)
    for (const Dimension::Place& place : dimension.places) {
      const auto input = static_cast<size_t>(place.input), dim = static_cast<size_t>(place.dim);
      if (input >= call.inputs.size() || dim >= call.inputs[input].type.shape.size())
        return user_error(
            "sizes", format("{}: the call has no input {} with a dimension {}", dimension.name, input, dim));
      const int64_t size = call.inputs[input].type.shape[dim];
      if (!dimension.contains(size))
        return user_error("sizes", format("{} is {}, outside of {}", dimension.name, size, text(dimension)));
      if (!out.emplace(dimension.name, size).second && out[dimension.name] != size)
        return user_error("sizes",
                          format("{} is {} and {} in one call", dimension.name, out[dimension.name], size));
    }
  return out;
}

Result<void> Manifest::set_sizes(const Sizes& wanted) {
  for (const Dimension& dimension : dimensions) {
    const auto found = wanted.find(dimension.name);
    if (found == wanted.end() || !dimension.contains(found->second))
      return user_error("sizes", format("{} is outside of {}",
                                        found == wanted.end() ? "nothing" : std::to_string(found->second),
                                        text(dimension)));
  }
  constexpr int64_t most = int64_t{1} << 48;
  for (const SizedType& each : sized_types(*this)) {
    const size_t rank = each.type->shape.size();
    for (size_t i = 0; i < each.formulas->size(); ++i) {
      const std::string& formula = (*each.formulas)[i];
      if (formula.empty()) continue;
      STITCH_TRY(const int64_t value, evaluate_size(formula, wanted));
      if (value < 0 || value > most)
        return user_error("sizes", format("'{}' is {} with {}", formula, value, text(wanted)));
      (i < rank ? each.type->shape[i] : each.type->strides[i - rank]) = value;
    }
    if (!shape_fits(each.type->shape))
      return user_error("sizes", format("'{}' has {} with {}: too many elements", each.name,
                                        text(each.type->shape), text(wanted)));
  }
  sizes = wanted;
  return {};
}

}  // namespace stitch
