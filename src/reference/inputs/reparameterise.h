// Weights under which inputs and parameters matter, without PyTorch: default initialisations shrink the
// signal sixfold a layer and leave norms at gain one and offset nought, so that whole networks can be
// replaced by a constant.
#pragma once

#include "program/manifest.h"
#include "reference/trial.h"

namespace stitch::verifier {

// By name and rank: matrices and filters grow by √6, vectors named like a gain or a variance are drawn
// around one, other float vectors around nought. What is the same small number everywhere (a layer scale of
// 1e-6) is a gain that hides what it scales, and is drawn around one too. Constants and integers stay.
// `faint`: then all of them thirty times smaller, variances a thousand times and every third a million, with
// one index along each dimension of filters all zeros, so that normalisations behind other layers see what
// their epsilons are for.
Result<Tensors> reparameterise(const std::vector<ManifestTensor>& names, const Tensors& weights,
                               uint64_t seed, bool faint = false);

}  // namespace stitch::verifier
