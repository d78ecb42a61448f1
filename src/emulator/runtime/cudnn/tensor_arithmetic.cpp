// Arithmetic on whole tensors: add, op, reduce, scale, set, transform.
#include <cmath>
#include <limits>

#include "cudnn/descriptors.h"

using namespace stitch_emulated;

namespace {

bool fits(const cudnnTensorStruct& small, const cudnnTensorStruct& large) {
  if (small.dims.size() != large.dims.size()) return false;
  for (size_t i = 0; i < small.dims.size(); ++i)
    if (small.dims[i] != 1 && small.dims[i] != large.dims[i]) return false;
  return true;
}

// c = alpha * f(a row, b row) + beta * c; b may be absent.
template <class F>
LibraryOperation pointwise(const char* name, const View& a, const View* b, const View& c, double alpha,
                           double beta, F f) {
  LibraryOperation call;
  call.name = name + sizes(c.dims);
  call.operands = {{"A", a.data, a.bytes()}, {"C", c.data, c.bytes()}};
  if (b) call.operands.push_back({"B", b->data, b->bytes()});
  const View other = b ? *b : a;
  const bool both = b;
  call.work = [=] {
    const Rows rows(c);
    const int64_t n = rows.length();
    rows.for_each([&](int64_t row) {
      std::vector<double> x(static_cast<size_t>(n)), y(both ? static_cast<size_t>(n) : 0);
      read(a.element, a.data, rows.offset(a, row), Rows::step(a), n, x.data());
      if (both) read(other.element, other.data, rows.offset(other, row), Rows::step(other), n, y.data());
      for (size_t i = 0; i < x.size(); ++i) x[i] = f(x[i], both ? y[i] : 0);
      blend(c, rows.offset(c, row), Rows::step(c), n, alpha, beta, x.data());
    });
  };
  return call;
}

double combine(cudnnOpTensorOp_t kind, double a, double b) {
  switch (kind) {
    case CUDNN_OP_TENSOR_ADD: return a + b;
    case CUDNN_OP_TENSOR_MUL: return a * b;
    case CUDNN_OP_TENSOR_MIN: return std::fmin(a, b);
    case CUDNN_OP_TENSOR_MAX: return std::fmax(a, b);
    case CUDNN_OP_TENSOR_SQRT: return std::sqrt(a);
    case CUDNN_OP_TENSOR_NOT: return 1 - a;
  }
  return 0;
}

double start_of(cudnnReduceTensorOp_t kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case CUDNN_REDUCE_TENSOR_MUL:
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS: return 1;
    case CUDNN_REDUCE_TENSOR_MIN: return infinity;
    case CUDNN_REDUCE_TENSOR_MAX: return -infinity;
    default: return 0;
  }
}
double reduce_step(cudnnReduceTensorOp_t kind, double sum, double x) {
  switch (kind) {
    case CUDNN_REDUCE_TENSOR_MUL: return sum * x;
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS: return x == 0 ? sum : sum * x;
    case CUDNN_REDUCE_TENSOR_MIN: return std::fmin(sum, x);
    case CUDNN_REDUCE_TENSOR_MAX: return std::fmax(sum, x);
    case CUDNN_REDUCE_TENSOR_AMAX: return std::fmax(sum, std::fabs(x));
    case CUDNN_REDUCE_TENSOR_NORM1: return sum + std::fabs(x);
    case CUDNN_REDUCE_TENSOR_NORM2: return sum + x * x;
    default: return sum + x;
  }
}

void reduce(const View& a, const View& c, cudnnReduceTensorOp_t kind, double alpha, double beta) {
  // The outer loop is over rows of c, the inner one over the elements of a reduced into one element of c.
  int64_t folded = 1;
  std::vector<int64_t> folds(a.dims.size());
  for (size_t i = 0; i < a.dims.size(); ++i) folded *= folds[i] = c.dims[i] == 1 ? a.dims[i] : 1;
  const Rows rows(c);
  rows.for_each([&](int64_t row) {
    std::vector<double> out(static_cast<size_t>(rows.length()));
    const int64_t base = [&] {
      int64_t at = 0, rest = row;
      for (size_t i = c.dims.size() - 1; i-- > 0;) {
        at += rest % c.dims[i] * a.steps[i];
        rest /= c.dims[i];
      }
      return at;
    }();
    for (int64_t j = 0; j < rows.length(); ++j) {
      double sum = start_of(kind);
      for (int64_t fold = 0; fold < folded; ++fold) {
        int64_t at = base + j * a.steps.back(), rest = fold;
        for (size_t i = folds.size(); i-- > 0;) {
          at += rest % folds[i] * a.steps[i];
          rest /= folds[i];
        }
        double x = 0;
        read(a.element, a.data, at, 1, 1, &x);
        sum = reduce_step(kind, sum, x);
      }
      if (kind == CUDNN_REDUCE_TENSOR_AVG) sum /= static_cast<double>(folded);
      if (kind == CUDNN_REDUCE_TENSOR_NORM2) sum = std::sqrt(sum);
      out[static_cast<size_t>(j)] = sum;
    }
    blend(c, rows.offset(c, row), c.steps.back(), rows.length(), alpha, beta, out.data());
  });
}

}  // namespace

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t a_desc,
                             const void* a, const void* beta, cudnnTensorDescriptor_t c_desc, void* c) {
  if (!handle || !a_desc || !c_desc || !alpha || !beta)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (!fits(*a_desc, *c_desc)) return refuse(CUDNN_STATUS_BAD_PARAM, "A can't be repeated to C's shape");
  if (a_desc->type != c_desc->type) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "A and C differ in type");
  const View va = view_of(*a_desc, a), vc = view_of(*c_desc, c);
  return submit(handle, pointwise("cudnnAddTensor", va, nullptr, vc, factor_of(vc.element, alpha),
                                  factor_of(vc.element, beta), [](double x, double) { return x; }));
}
cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_desc,
                                   const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  if (!handle || !x_desc || !y_desc || !alpha || !beta)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (x_desc->dims != y_desc->dims) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "x and y differ in shape");
  const View vx = view_of(*x_desc, x), vy = view_of(*y_desc, y);
  return submit(handle, pointwise("cudnnTransformTensor", vx, nullptr, vy, factor_of(vy.element, alpha),
                                  factor_of(vy.element, beta), [](double v, double) { return v; }));
}
cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, cudnnTensorDescriptor_t y_desc, void* y,
                             const void* value) {
  if (!handle || !y_desc || !value) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  const View vy = view_of(*y_desc, y);
  const double fill = read_one(vy.element, value);
  return submit(handle,
                pointwise("cudnnSetTensor", vy, nullptr, vy, 1, 0, [fill](double, double) { return fill; }));
}
cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, cudnnTensorDescriptor_t y_desc, void* y,
                               const void* alpha) {
  if (!handle || !y_desc || !alpha) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  const View vy = view_of(*y_desc, y);
  return submit(handle, pointwise("cudnnScaleTensor", vy, nullptr, vy, factor_of(vy.element, alpha), 0,
                                  [](double x, double) { return x; }));
}

cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t* op) {
  *op = new cudnnOpTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t op) {
  delete op;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t op, cudnnOpTensorOp_t kind,
                                         cudnnDataType_t, cudnnNanPropagation_t) {
  if (!op || kind > CUDNN_OP_TENSOR_NOT) return refuse(CUDNN_STATUS_BAD_PARAM, "no such operation");
  op->kind = kind;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, cudnnOpTensorDescriptor_t op, const void* alpha1,
                            cudnnTensorDescriptor_t a_desc, const void* a, const void* alpha2,
                            cudnnTensorDescriptor_t b_desc, const void* b, const void* beta,
                            cudnnTensorDescriptor_t c_desc, void* c) {
  if (!handle || !op || !a_desc || !c_desc || !alpha1)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  const bool both = op->kind < CUDNN_OP_TENSOR_SQRT;
  if (both && (!b_desc || !alpha2)) return refuse(CUDNN_STATUS_BAD_PARAM, "B is null");
  if (!fits(*a_desc, *c_desc) || (both && !fits(*b_desc, *c_desc)))
    return refuse(CUDNN_STATUS_BAD_PARAM, "A or B can't be repeated to C's shape");
  const View va = view_of(*a_desc, a), vc = view_of(*c_desc, c);
  const View vb = both ? view_of(*b_desc, b) : View{};
  const double fa = factor_of(vc.element, alpha1), fb = both ? factor_of(vc.element, alpha2) : 0;
  return submit(handle, pointwise("cudnnOpTensor", va, both ? &vb : nullptr, vc, 1,
                                  factor_of(vc.element, beta), [kind = op->kind, fa, fb](double x, double y) {
                                    return combine(kind, fa * x, fb * y);
                                  }));
}

cudnnStatus_t cudnnCreateReduceTensorDescriptor(cudnnReduceTensorDescriptor_t* made) {
  *made = new cudnnReduceTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyReduceTensorDescriptor(cudnnReduceTensorDescriptor_t desc) {
  delete desc;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t desc, cudnnReduceTensorOp_t kind,
                                             cudnnDataType_t, cudnnNanPropagation_t,
                                             cudnnReduceTensorIndices_t indices, cudnnIndicesType_t) {
  if (!desc || kind > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS)
    return refuse(CUDNN_STATUS_BAD_PARAM, "no such reduction");
  if (indices != CUDNN_REDUCE_TENSOR_NO_INDICES)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "indices of a reduction are not emulated");
  desc->kind = kind;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetReductionIndicesSize(cudnnHandle_t, cudnnReduceTensorDescriptor_t,
                                           cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t desc,
                                             cudnnTensorDescriptor_t a, cudnnTensorDescriptor_t c,
                                             size_t* bytes) {
  if (!handle || !desc || !a || !c || !bytes) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  *bytes = view_of(*c, nullptr).bytes();
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle, cudnnReduceTensorDescriptor_t desc, void*, size_t,
                                void* workspace, size_t workspace_bytes, const void* alpha,
                                cudnnTensorDescriptor_t a_desc, const void* a, const void* beta,
                                cudnnTensorDescriptor_t c_desc, void* c) {
  if (!handle || !desc || !a_desc || !c_desc || !alpha || !beta)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (!fits(*c_desc, *a_desc)) return refuse(CUDNN_STATUS_BAD_PARAM, "C is no reduction of A");
  const View va = view_of(*a_desc, a), vc = view_of(*c_desc, c);
  if (a_desc->dims != c_desc->dims && workspace_bytes < vc.bytes())
    return refuse(CUDNN_STATUS_BAD_PARAM, "the workspace is too small");
  LibraryOperation call{
      "cudnnReduceTensor" + sizes(va.dims),
      {{"A", va.data, va.bytes()}, {"C", vc.data, vc.bytes()}, {"workspace", workspace, workspace_bytes}},
      {}};
  call.work = [=, kind = desc->kind, fa = factor_of(vc.element, alpha), fb = factor_of(vc.element, beta)] {
    if (workspace_bytes) spoil(workspace, workspace_bytes);
    reduce(va, vc, kind, fa, fb);
  };
  return submit(handle, std::move(call));
}
