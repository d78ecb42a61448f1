#include "reference/inputs/reparameterise.h"

#include <algorithm>
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

// The same size everywhere, and small: of any rank.
bool hides(const oracle::Tensor& tensor) {
  const double* values = tensor.data<double>();
  const double size = tensor.elements() ? std::fabs(values[0]) : 0;
  if (!(size > 0 && size < 0.1)) return false;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    if (std::fabs(values[i]) != size) return false;
  return true;
}

bool is_zero(const oracle::Tensor& tensor) {
  const double* values = tensor.data<double>();
  return std::all_of(values, values + tensor.elements(), [](double value) { return value == 0; });
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

void fade(oracle::Tensor& tensor, Part part, uint64_t seed, int64_t stream) {
  constexpr double faint = 0x1p-5;
  const Shape& shape = tensor.shape();
  const std::vector<int64_t> strides = contiguous_strides(shape);
  double* values = tensor.writable<double>();
  auto one_of = [&](int64_t count, size_t axis) {
    const auto draw =
        oracle::random_bits(static_cast<int64_t>(seed), stream, -1 - static_cast<int64_t>(axis));
    return static_cast<int64_t>(oracle::uniform(draw[0], 24) * static_cast<double>(count));
  };
  if (part == Part::variance) {
    const int64_t chosen = one_of(3, 0);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      values[i] *= i % 3 == chosen ? std::pow(faint, 4) : faint * faint;
    return;
  }
  for (int64_t i = 0; i < tensor.elements(); ++i) values[i] *= faint;
  for (size_t axis = 0; shape.size() > 1 && axis < shape.size(); ++axis) {
    if (shape[axis] < 3) continue;
    const int64_t chosen = one_of(shape[axis], axis);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      if (i / strides[axis] % shape[axis] == chosen) values[i] = 0;
  }
}

}  // namespace

Result<Tensors> reparameterise(const std::vector<ManifestTensor>& names, const Tensors& weights,
                               uint64_t seed, bool faint) {
  Tensors out;
  for (size_t i = 0; i < names.size(); ++i) {
    const TensorBytes& old = weights[i];
    if (names[i].role == "constant" || !is_floating(old.type.dtype)) {
      out.add(old, weights.owners[i]);
      continue;
    }
    STITCH_TRY(oracle::Tensor from, oracle::Tensor::from_bytes(old.type.dtype, old.type.shape, old.bytes));
    oracle::Tensor to(old.type.dtype, old.type.shape);
    // What a model carries from call to call is zero before the first.
    const bool begins = names[i].role == "state" && is_zero(from);
    const Part part = begins ? Part::offset : hides(from) ? Part::gain : part_of(names[i]);
    int64_t stream = static_cast<int64_t>(std::hash<std::string>{}(names[i].data));
    for (int64_t e = 0; e < from.elements(); ++e)
      to.writable<double>()[e] =
          redrawn(part, from.data<double>()[e],
                  oracle::uniform(oracle::random_bits(static_cast<int64_t>(seed), stream, e)[0], 24));
    if (faint) fade(to, part, seed, stream);
    out.add(old.type, to.to_bytes());
  }
  return out;
}

}  // namespace stitch::verifier
