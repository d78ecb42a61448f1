#include "oracle/blas.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "base/machine/parallel.h"
#include "base/result.h"

#ifdef STITCH_HAVE_OPENBLAS
#include <cblas.h>
// Netlib's cblas.h doesn't declare these.
extern "C" void openblas_set_num_threads(int);
extern "C" int openblas_get_num_threads(void);
#endif

namespace stitch::oracle {

namespace {

GemmLibrary preferred() {
  const char* asked = std::getenv("STITCH_GEMM");
  if (!have_openblas() || (asked && std::string_view(asked) == "blocked")) return GemmLibrary::blocked;
  return GemmLibrary::openblas;
}

std::atomic<GemmLibrary>& chosen() {
  static std::atomic<GemmLibrary> library = preferred();
  return library;
}

#ifdef STITCH_HAVE_OPENBLAS
bool fits_openblas(const Gemm& shape) {
  return std::max({shape.m, shape.n, shape.k, shape.stride_a, shape.stride_b, shape.stride_c}) <= INT_MAX;
}

void openblas_gemm(const Gemm& shape, const double* a, const double* b, double* c) {
  auto size = [](int64_t value) { return static_cast<int>(value); };
  // For a single row or column the stride is arbitrary, but OpenBLAS requires at least the width.
  auto stride = [&](int64_t given, int64_t width) { return size(std::max({given, width, int64_t{1}})); };
  cblas_dgemm(CblasRowMajor, shape.transpose_a ? CblasTrans : CblasNoTrans,
              shape.transpose_b ? CblasTrans : CblasNoTrans, size(shape.m), size(shape.n), size(shape.k),
              shape.alpha, a, stride(shape.stride_a, shape.transpose_a ? shape.m : shape.k), b,
              stride(shape.stride_b, shape.transpose_b ? shape.k : shape.n), shape.beta, c,
              stride(shape.stride_c, shape.n));
}
#endif

}  // namespace

bool have_openblas() {
#ifdef STITCH_HAVE_OPENBLAS
  return true;
#else
  return false;
#endif
}

GemmLibrary gemm_library() { return chosen(); }

void use_gemm_library(GemmLibrary library) {
  require(library == GemmLibrary::blocked || have_openblas(), "OpenBLAS is not there");
  chosen() = library;
}

void gemm(const Gemm& shape, const double* a, const double* b, double* c) {
  if (shape.m == 0 || shape.n == 0) return;
#ifdef STITCH_HAVE_OPENBLAS
  if (gemm_library() == GemmLibrary::openblas && shape.k > 0 && fits_openblas(shape))
    return openblas_gemm(shape, a, b, c);
#endif
  blocked_gemm(shape, a, b, c);
}

void batched_gemm(const Gemm& shape, int64_t count, const std::function<GemmOperands(int64_t)>& operands) {
  double flops =
      2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  // Above this one product uses all cores.
  bool large = flops > 1e9;
  if (large || count == 1) {
    for (int64_t i = 0; i < count; ++i) {
      GemmOperands each = operands(i);
      gemm(shape, each.a, each.b, each.c);
    }
    return;
  }
  OneThread one_thread;
  int64_t grain = static_cast<int64_t>(std::max(1.0, 1e5 / std::max(flops, 1.0)));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      GemmOperands each = operands(i);
      gemm(shape, each.a, each.b, each.c);
    }
  });
}

int64_t workspace_elements() {
  constexpr int64_t all = int64_t{256} << 20, most = int64_t{16} << 20;  // bytes
  return std::min(all / core_count(), most) / static_cast<int64_t>(sizeof(double));
}

// The blocked loop needs no switch: nested parallel loops run on the calling thread.
#ifdef STITCH_HAVE_OPENBLAS
OneThread::OneThread() : before_(openblas_get_num_threads()) { openblas_set_num_threads(1); }
OneThread::~OneThread() { openblas_set_num_threads(before_); }
#else
OneThread::OneThread() : before_(0) {}
OneThread::~OneThread() = default;
#endif

}  // namespace stitch::oracle
