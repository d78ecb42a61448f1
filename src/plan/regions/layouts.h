// Layouts of values between regions: channels last, and fp16, where convolutions read and write them. Inputs
// and outputs keep the ABI's layout.
#pragma once

#include <set>

#include "plan/technique.h"

namespace stitch::plan {

// Convolutions on fp16 tensor cores with FP32 accumulation, values around them in fp16, channels last. fp16
// has the ten bits of mantissa that TF32 has, so this is for convolutions that PyTorch does in TF32; never in
// class strict. With measured rounding errors it is all or nothing (plan/precision/half_budget.h); the next
// two are for models without measurements.
Result<Plan> store_half(const Context& context, Plan plan, const Catalogue& catalogue);
// The same, but a convolution that no other one follows writes FP32, as PyTorch's does: no later layer damps
// its rounding error (VGG-16 on an H200: 2.0e-5 with it, 8.4e-6 without, PyTorch 7.9e-6).
Result<Plan> store_half_before_last(const Context& context, Plan plan, const Catalogue& catalogue);
// The same as the first, but what PyTorch does in FP32 stays exact: for networks whose first layers have few
// channels, and whose error would grow beyond the class.
Result<Plan> store_half_beside_exact(const Context& context, Plan plan, const Catalogue& catalogue);
// The same convolutions in TF32: values around them with channels last, in FP32.
Result<Plan> store_channels_last(const Context& context, Plan plan, const Catalogue& catalogue);

// Where fp16 convolutions read row-major images after all: uses techniques that accept them, if that saves
// the conversions. `convolutions`: nodes that may multiply in fp16.
void keep_row_major(const Context& context, Plan& plan, const Catalogue& catalogue,
                    const std::set<int32_t>& convolutions);

std::vector<int64_t> channels_last_order(int64_t rank);
bool is_channels_last(const Graph& graph, const Plan& plan, ValueId id);
const Node* convolution_in(const Graph& graph, const Region& region);

}  // namespace stitch::plan
