#include "verify/reparameterise.h"

#include <cmath>

#include "oracle/philox.h"
#include "oracle/tensor.h"

namespace stitch::verifier {

namespace {

enum class Part { filter, gain, variance, offset };

Part part_of(const ManifestTensor& tensor) {
  if (tensor.type.rank() >= 2) return Part::filter;
  std::string_view key = tensor.data;
  if (key.ends_with("var") || key.ends_with("variance")) return Part::variance;
  return key.ends_with("weight") || key.ends_with("scale") || key.ends_with("gamma") ? Part::gain
                                                                                     : Part::offset;
}

double redrawn(Part part, double old, double uniform) {
  switch (part) {
    case Part::filter: return old * std::sqrt(6.0);
    case Part::gain: return 0.5 + uniform;
    case Part::variance: return 0.5 + uniform;
    case Part::offset: return uniform - 0.5;
  }
  return old;
}

}  // namespace

Result<Tensors> reparameterise(const std::vector<ManifestTensor>& names, const Tensors& weights) {
  Tensors out;
  for (size_t i = 0; i < names.size(); ++i) {
    const TensorBytes& old = weights[i];
    if (names[i].role == "constant" || !is_floating(old.type.dtype)) {
      out.add(old, weights.owners[i]);
      continue;
    }
    STITCH_TRY(oracle::Tensor from, oracle::Tensor::from_bytes(old.type.dtype, old.type.shape, old.bytes));
    oracle::Tensor to(old.type.dtype, old.type.shape);
    Part part = part_of(names[i]);
    int64_t stream = static_cast<int64_t>(std::hash<std::string>{}(names[i].data));
    for (int64_t e = 0; e < from.elements(); ++e)
      to.writable<double>()[e] =
          redrawn(part, from.data<double>()[e], oracle::uniform(oracle::random_bits(6, stream, e)[0], 24));
    out.add(old.type, to.to_bytes());
  }
  return out;
}

}  // namespace stitch::verifier
