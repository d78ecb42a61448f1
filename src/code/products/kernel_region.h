// A region that calls one of our kernels once, after a call at create that packs its weight.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "code/products/epilogue.h"

namespace stitch::code {

struct PackedWeight {
  const Place& weight;
  std::string name;
  DType type;
  int64_t elements;
  std::string comment;  // after the number of elements
  std::string call;     // "pack_implicit<Conv1Image, true>": (weight, packed, stream)
};

struct KernelRegion {
  std::string_view header;  // of stitch/kernels
  std::string summary;      // the first line of its comment, before the epilogue's
  std::string idea;         // the second
  std::string structs;      // what the call takes as template arguments
  std::vector<const Place*> reads;
  std::optional<PackedWeight> packed = {};
  std::string call;                    // "enqueue_conv_direct<Conv1Layer>"
  std::vector<std::string> arguments;  // between the region's name and the epilogue
};
RegionCode write_kernel(const RegionRequest& request, const Place& out, const Epilogue& epilogue,
                        const KernelRegion& region);

}  // namespace stitch::code
