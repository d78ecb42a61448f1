// Matrix products of doubles: OpenBLAS if available, otherwise our own blocked loop.
#pragma once

#include <cstdint>
#include <functional>

namespace stitch::oracle {

// C = A' B' + beta C, row-major: A' is (m, k), B' is (k, n), C is (m, n).
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;     // A is stored as (k, m), B as (n, k)
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // between rows in memory
  double alpha = 1;
  double beta = 0;  // 0: C is not read and may hold anything
};

// On all cores; inside OneThread on the calling thread.
void gemm(const Gemm& shape, const double* a, const double* b, double* c);

struct GemmOperands {
  const double* a;
  const double* b;
  double* c;
};
// `count` independent products of one shape: small ones in parallel, large ones one by one on all cores.
void batched_gemm(const Gemm& shape, int64_t count, const std::function<GemmOperands(int64_t)>& operands);

// During its lifetime every gemm runs on the calling thread: for loops that are parallel themselves.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Doubles per thread for rearranged matrices: 16 MB, and 256 MB for all threads together.
int64_t workspace_elements();

enum class GemmLibrary { openblas, blocked };
// The library used by gemm; STITCH_GEMM=blocked selects our own loop.
GemmLibrary gemm_library();
bool have_openblas();
void use_gemm_library(GemmLibrary library);

// Our own loop, always built so that it can be tested.
void blocked_gemm(const Gemm& shape, const double* a, const double* b, double* c);

}  // namespace stitch::oracle
