// Pooling over one to three dimensions.
#include <cmath>
#include <limits>

#include "cudnn/descriptors.h"

using namespace stitch_emulated;

namespace {

int64_t pooled(const cudnnPoolingStruct& pooling, size_t dim, int64_t size) {
  return 1 + (size + 2 * pooling.pad[dim] - pooling.window[dim]) / pooling.stride[dim];
}

// Three dimensions, of which the first may be 1.
struct Window {
  int64_t size[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, stride[3] = {1, 1, 1};
};
View in_three(View view) {
  while (view.dims.size() < 5) {
    view.dims.insert(view.dims.begin() + 2, 1);
    view.steps.insert(view.steps.begin() + 2, 0);
  }
  return view;
}

struct Span {
  int64_t first, last;  // inside the image
  int64_t padded;       // including padding that counts
};
Span span(const Window& w, int d, int64_t at, int64_t size) {
  const int64_t start = at * w.stride[d] - w.pad[d];
  const int64_t end = start + w.size[d];
  return {std::max<int64_t>(0, start), std::min(size, end), std::min(end, size + w.pad[d]) - start};
}

double pool(const View& x, int64_t base, const Window& w, const int64_t at[3], cudnnPoolingMode_t mode,
            bool propagate_nan) {
  Span s[3];
  for (int d = 0; d < 3; ++d) s[d] = span(w, d, at[d], x.dims[static_cast<size_t>(d) + 2]);
  const bool maximum = mode == CUDNN_POOLING_MAX || mode == CUDNN_POOLING_MAX_DETERMINISTIC;
  double out = maximum ? -std::numeric_limits<double>::infinity() : 0;
  int64_t count = 0;
  for (int64_t i = s[0].first; i < s[0].last; ++i)
    for (int64_t j = s[1].first; j < s[1].last; ++j)
      for (int64_t k = s[2].first; k < s[2].last; ++k) {
        double value = 0;
        read(x.element, x.data, base + i * x.steps[2] + j * x.steps[3] + k * x.steps[4], 1, 1, &value);
        ++count;
        if (!maximum)
          out += value;
        else if (value > out || (value != value && propagate_nan))
          out = value;
      }
  if (maximum) return out;
  if (mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) count = s[0].padded * s[1].padded * s[2].padded;
  return count ? out / static_cast<double>(count) : 0;
}

}  // namespace

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling) {
  *pooling = new cudnnPoolingStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling) {
  delete pooling;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int window_h, int window_w, int pad_h,
                                          int pad_w, int stride_h, int stride_w) {
  const int window[] = {window_h, window_w}, pad[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w};
  return cudnnSetPoolingNdDescriptor(pooling, mode, nan, 2, window, pad, stride);
}
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int count, const int window[],
                                          const int pad[], const int stride[]) {
  if (!pooling || mode > CUDNN_POOLING_MAX_DETERMINISTIC)
    return refuse(CUDNN_STATUS_BAD_PARAM, "no such pooling");
  if (count < 1 || count > 3)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "pooling has one to three dimensions");
  for (int i = 0; i < count; ++i)
    if (window[i] <= 0 || stride[i] <= 0 || pad[i] < 0)
      return refuse(CUDNN_STATUS_BAD_PARAM, "a window or stride is not positive");
  *pooling = {mode,
              nan == CUDNN_PROPAGATE_NAN,
              {window, window + count},
              {pad, pad + count},
              {stride, stride + count}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t x,
                                                int count, int dims[]) {
  if (!pooling || !x || x->dims.size() != pooling->window.size() + 2 ||
      static_cast<size_t>(count) != x->dims.size())
    return refuse(CUDNN_STATUS_BAD_PARAM, "the tensor has not the pooling's dimensions");
  for (size_t i = 0; i < x->dims.size(); ++i)
    dims[i] = static_cast<int>(i < 2 ? x->dims[i] : pooled(*pooling, i - 2, x->dims[i]));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetPooling2dForwardOutputDim(cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t x,
                                                int* n, int* c, int* h, int* w) {
  int dims[4];
  if (cudnnStatus_t status = cudnnGetPoolingNdForwardOutputDim(pooling, x, 4, dims)) return status;
  *n = dims[0], *c = dims[1], *h = dims[2], *w = dims[3];
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                  cudnnTensorDescriptor_t x_desc, const void* x, const void* beta,
                                  cudnnTensorDescriptor_t y_desc, void* y) {
  if (!handle || !pooling || !x_desc || !y_desc || !alpha || !beta)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  int dims[CUDNN_DIM_MAX];
  if (cudnnStatus_t status =
          cudnnGetPoolingNdForwardOutputDim(pooling, x_desc, static_cast<int>(x_desc->dims.size()), dims))
    return status;
  // The last window may extend past the edge by less than its size (PyTorch's ceil_mode).
  for (size_t i = 0; i < y_desc->dims.size(); ++i) {
    const bool first = i < 2;
    if (y_desc->dims.size() != x_desc->dims.size() || (first && y_desc->dims[i] != dims[i]) ||
        (!first && y_desc->dims[i] != dims[i] && y_desc->dims[i] != dims[i] + 1))
      return refuse(CUDNN_STATUS_BAD_PARAM, "y has not the pooled shape");
  }
  if (x_desc->type != y_desc->type) return refuse(CUDNN_STATUS_BAD_PARAM, "x and y differ in type");
  Window window;
  const size_t lead = 3 - pooling->window.size();
  for (size_t i = 0; i < pooling->window.size(); ++i) {
    window.size[lead + i] = pooling->window[i];
    window.pad[lead + i] = pooling->pad[i];
    window.stride[lead + i] = pooling->stride[i];
  }
  const View vx = in_three(view_of(*x_desc, x)), vy = in_three(view_of(*y_desc, y));
  LibraryOperation call{"cudnnPoolingForward" + sizes(y_desc->dims),
                        {{"x", vx.data, vx.bytes()}, {"y", vy.data, vy.bytes()}},
                        {}};
  call.work = [=, mode = pooling->mode, nan = pooling->propagate_nan, fa = factor_of(vy.element, alpha),
               fb = factor_of(vy.element, beta)] {
    const Rows rows(vy);
    rows.for_each([&](int64_t row) {
      std::vector<double> line(static_cast<size_t>(rows.length()));
      int64_t at[3] = {row / vy.dims[3] % vy.dims[2], row % vy.dims[3], 0};
      const int64_t image = row / vy.dims[3] / vy.dims[2];
      const int64_t base = image / vy.dims[1] * vx.steps[0] + image % vy.dims[1] * vx.steps[1];
      for (; at[2] < rows.length(); ++at[2])
        line[static_cast<size_t>(at[2])] = pool(vx, base, window, at, mode, nan);
      blend(vy, rows.offset(vy, row), vy.steps.back(), rows.length(), fa, fb, line.data());
    });
  };
  return submit(handle, std::move(call));
}
