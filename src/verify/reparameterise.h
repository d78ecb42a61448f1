// Weights under which inputs and parameters matter, without PyTorch: default initialisations shrink the
// signal sixfold a layer and leave norms at gain one and offset nought, so that whole networks can be
// replaced by a constant.
#pragma once

#include "program/manifest.h"
#include "verify/trial.h"

namespace stitch::verifier {

// By name and rank: matrices and filters grow by √6, vectors named like a gain or a variance are drawn
// around one, other float vectors around nought. Constants and integers stay.
Result<Tensors> reparameterise(const std::vector<ManifestTensor>& names, const Tensors& weights);

}  // namespace stitch::verifier
