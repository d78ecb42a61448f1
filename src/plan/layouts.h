// How values lie in memory between regions: channels last, and in fp16, where convolutions read and write
// them. The caller's tensors stay as the ABI has them.
#pragma once

#include <set>

#include "plan/fusion.h"

namespace stitch::plan {

// Convolutions on fp16 tensor cores with FP32 sums, values around them in fp16 with channels last. fp16 has
// the ten bits of mantissa that TF32 has, so this is for convolutions that PyTorch does in TF32; never in
// class strict.
Result<Plan> store_half(const Graph& graph, Plan plan, const Techniques& techniques);
// The same, but a convolution behind which no other one comes writes FP32, as PyTorch's does: what is rounded
// there no later layer damps (VGG-16 on an H200: 2.0e-5 with it, 8.4e-6 without, PyTorch 7.9e-6).
Result<Plan> store_half_before_last(const Graph& graph, Plan plan, const Techniques& techniques);
// The same as the first, but what PyTorch does in FP32 stays exact: for networks whose first layers have few
// channels, and whose error would grow beyond the class.
Result<Plan> store_half_beside_exact(const Graph& graph, Plan plan, const Techniques& techniques);
// The same convolutions in TF32: values around them with channels last, in FP32.
Result<Plan> store_channels_last(const Graph& graph, Plan plan, const Techniques& techniques);

// Does PyTorch multiply in TF32 here, if it may? (Class default.) As it was seen, or by a guess.
bool is_tf32_in_pytorch(const Graph& graph, const Plan& plan, int32_t convolution);

// It isn't done in TF32 there, and everybody can see it: the statistics of the batch norm behind it are
// results.
bool must_be_exact(const Graph& graph, const Plan& plan, int32_t convolution);

// Nodes of convolutions that may lose bits which PyTorch loses too: those it does in TF32, and any other one
// before or behind such a one, whose error is in the result already.
std::set<int32_t> ten_bit_convolutions(const Graph& graph, const Plan& plan);

// What cuDNN or we move besides the region's own reads and writes: other orders and types, and a pass over
// the result for what the library's epilogue can't do.
double rearranged_bytes(const Graph& graph, const Plan& plan, const Region& region);

}  // namespace stitch::plan
