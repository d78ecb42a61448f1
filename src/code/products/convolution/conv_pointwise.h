// Variants of a 1 x 1 convolution, by layout and epilogue.
#pragma once

#include "code/products/convolution/convolution.h"
#include "code/products/epilogue.h"

namespace stitch::code {

// In NHWC, samples and pixels are rows of one matrix: cuBLASLt's, with its epilogue. Empty for other layouts
// or epilogues.
std::optional<LibraryEpilogue> pointwise_last_epilogue(const RegionRequest& request, const Parts& parts,
                                                       const Convolution& convolution);
RegionCode write_pointwise_last(const RegionRequest& request, const Convolution& convolution,
                                const LibraryEpilogue& epilogue, const std::string& summary, bool exact);

// Large NCHW planes without epilogue, in TF32: cuBLASLt's, too.
bool suits_library(const RegionRequest& request, const Convolution& convolution, const Epilogue& epilogue);
RegionCode write_pointwise_library(const RegionRequest& request, const Convolution& convolution);

}  // namespace stitch::code
