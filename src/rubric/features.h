// What a kernel's text shows of its engineering: the techniques that it uses, the kind of work that it does.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rubric/functions.h"

namespace stitch::rubric {

enum class Feature : uint8_t {
  shared_memory,
  tiling,            // operands through shared memory, a tile at a time
  register_tiling,   // several results per thread
  vector_access,     // 8 or 16 bytes a load
  read_only_cache,   // __ldg, __restrict__ const
  tensor_cores,      // mma, wgmma, wmma
  async_copy,        // cp.async, TMA
  double_buffering,  // two stages or more
  warp_shuffle,
  block_reduction,  // by shared memory or shuffles
  unrolling,
  grid_stride,
  launch_bounds,
  fast_math,
  half_precision,
  atomics,
  online,          // one pass: Welford, online softmax
  fused_epilogue,  // a library's product with bias or activation in it
  cuda_graph,
  streams,
};
inline constexpr size_t feature_count = static_cast<size_t>(Feature::streams) + 1;
std::string_view name(Feature feature);
// In words, for people: "tensor cores".
std::string_view words(Feature feature);

class Features {
 public:
  bool has(Feature feature) const { return bits_.test(static_cast<size_t>(feature)); }
  void add(Feature feature) { bits_.set(static_cast<size_t>(feature)); }
  Features& operator|=(const Features& other) {
    bits_ |= other.bits_;
    return *this;
  }
  bool operator==(const Features&) const = default;

 private:
  std::bitset<feature_count> bits_;
};

// The kind of work that a kernel, a library call or an operator does.
enum class Work : uint8_t { constant, move, pointwise, reduction, product };
std::string_view name(Work work);

struct BodyFacts {
  Features features;
  bool products = false;      // multiplies what it loads and adds it up, in a loop
  bool reduces = false;       // accumulates what it loads
  int arithmetic = 0;         // operations on data, indices not counted
  int functions = 0;          // of them, calls such as expf
  bool strided = false;       // neighbouring threads read far apart
  bool doubles = false;       // arithmetic in double precision
  bool global_loads = false;  // reads through a pointer that it was given
  std::vector<bool> writes;   // which parameters it stores to
  BodyFacts& operator|=(const BodyFacts& other);
};

// Of one body alone, without its `dead` ranges (begin, end, begin, end …); what it calls is added later, when
// all functions are known.
BodyFacts scan_body(const std::vector<Token>& tokens, const std::vector<size_t>& match,
                    const Function& function, const std::vector<size_t>& dead = {});
// What words and strings alone tell, also those of macros.
void add_features(const Token& token, Features& features);

// What PyTorch's functions, methods and layers are among the graph's operators; what libraries' calls are.

struct TorchRow {
  std::string_view names;      // functions, methods, layers, separated by blanks
  std::string_view operators;  // of the graph
  bool heavy = false;
  bool every = false;  // all of these operators, not one of them
};
// By a function's, a method's or a layer's name; null: none that computes.
const TorchRow* find_torch(std::string_view name);
// Names that are methods of so many things that only torch.NAME and F.NAME count.
bool is_common_method(std::string_view name);

// "linear matmul" one by one.
std::vector<std::string> operator_names(std::string_view operators);

struct LibraryRow {
  std::string_view prefix, library, operators;
  Work work = Work::product;
  bool fused = false;
};
const LibraryRow* find_library(std::string_view name);

}  // namespace stitch::rubric
