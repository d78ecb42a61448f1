// Matrix products of doubles: OpenBLAS where it is there, a blocked loop of our own where it isn't.
#pragma once

#include <cstdint>
#include <functional>

namespace stitch::oracle {

// C = A' B' + beta C, row-major: A' is (m, k), B' is (k, n), C is (m, n).
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;     // A lies in memory as (k, m), B as (n, k)
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // from one row in memory to the next
  double alpha = 1;
  double beta = 0;  // 0 means that C is not read: it may hold anything
};

// On all cores, or inside OneThread on the calling one.
void gemm(const Gemm& shape, const double* a, const double* b, double* c);

struct GemmOperands {
  const double* a;
  const double* b;
  double* c;
};
// `count` independent products of one shape: small ones side by side, large ones one by one on all cores.
void batched_gemm(const Gemm& shape, int64_t count, const std::function<GemmOperands(int64_t)>& operands);

// While one lives, every gemm runs on the thread that asks for it: for loops that are parallel themselves.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// How many doubles one thread may take to lay out matrices: 16 MB, and 256 MB for all threads together.
int64_t workspace_elements();

enum class GemmLibrary { openblas, blocked };
// What gemm uses. The environment's STITCH_GEMM=blocked asks for our own loop.
GemmLibrary gemm_library();
bool have_openblas();
void use_gemm_library(GemmLibrary library);

// Our own loop: always there, so that it can be tested against the other.
void blocked_gemm(const Gemm& shape, const double* a, const double* b, double* c);

}  // namespace stitch::oracle
