// The ways of a convolution whose kernel is one pixel, by how its image lies and what follows.
#pragma once

#include "code/products/convolution.h"
#include "code/products/epilogue.h"

namespace stitch::code {

// Channels last, samples and pixels are rows of one matrix: cuBLASLt's, with what follows as its epilogue.
// Nothing: the image or what follows is not like that.
std::optional<LibraryEpilogue> pointwise_last_epilogue(const RegionRequest& request, const Parts& parts,
                                                       const Convolution& convolution);
RegionCode write_pointwise_last(const RegionRequest& request, const Convolution& convolution,
                                const LibraryEpilogue& epilogue, const std::string& summary, bool exact);

// Large planes with nothing behind them, in TF32: cuBLASLt's, too.
bool suits_library(const RegionRequest& request, const Convolution& convolution, const Epilogue& epilogue);
RegionCode write_pointwise_library(const RegionRequest& request, const Convolution& convolution);

}  // namespace stitch::code
