// Convolutions: descriptors, argument checks, algorithms and workspaces.
#include "cudnn/descriptors.h"

using namespace stitch_emulated;

namespace {

int64_t forward_size(const cudnnConvolutionStruct& c, size_t dim, int64_t size, int64_t kernel) {
  return 1 + (size + 2 * c.pad[dim] - (c.dilation[dim] * (kernel - 1) + 1)) / c.stride[dim];
}

// Everything but addresses. `x` and `y` are those of the forward convolution.
cudnnStatus_t check(cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                    cudnnConvolutionDescriptor_t c, cudnnTensorDescriptor_t y) {
  if (!handle || !x || !w || !c || !y) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  const size_t count = x->dims.size();
  if (w->dims.size() != count || y->dims.size() != count || c->pad.size() + 2 != count)
    return refuse(CUDNN_STATUS_BAD_PARAM, "x, w, y and the convolution differ in dimensions");
  if (count < 4 || count > 5)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED,
                  "a convolution has two or three dimensions; give a 1-d one a height of 1");
  if (x->dims[1] != w->dims[1] * c->groups)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the filter's channels times the groups are not x's channels");
  if (w->dims[0] % c->groups) return refuse(CUDNN_STATUS_BAD_PARAM, "the groups don't divide the filters");
  if (y->dims[0] != x->dims[0] || y->dims[1] != w->dims[0])
    return refuse(CUDNN_STATUS_BAD_PARAM, "y has not the convolution's batch and channels");
  for (size_t i = 2; i < count; ++i)
    if (y->dims[i] != forward_size(*c, i - 2, x->dims[i], w->dims[i]))
      return refuse(CUDNN_STATUS_BAD_PARAM, "y has not the convolution's shape");
  if (x->type != w->type || x->type != y->type)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "x, w and y differ in type");
  const bool wide = x->type == CUDNN_DATA_DOUBLE;
  if (x->type == CUDNN_DATA_INT8 || x->type == CUDNN_DATA_INT32)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "convolutions of integers are not emulated");
  const bool half = x->type == CUDNN_DATA_HALF && c->compute == CUDNN_DATA_HALF;
  if (!half && c->compute != (wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the compute type does not go with the data's");
  return CUDNN_STATUS_SUCCESS;
}

View in_three(View view) {
  if (view.dims.size() == 4) {
    view.dims.insert(view.dims.begin() + 2, 1);
    view.steps.insert(view.steps.begin() + 2, 0);
  }
  return view;
}

// The convolution from x to y, without scaling and bias.
Convolution problem(cudnnTensorDescriptor_t x_desc, const void* x, cudnnFilterDescriptor_t w_desc,
                    const void* w, cudnnConvolutionDescriptor_t c, cudnnTensorDescriptor_t y_desc,
                    const void* y) {
  Convolution out;
  out.source = in_three(view_of(*x_desc, x));
  out.target = in_three(view_of(*y_desc, y));
  element_of(w_desc->type, out.filter_element);
  out.filter = w;
  out.groups = c->groups;
  out.flipped = c->mode == CUDNN_CONVOLUTION;
  out.precision = precision_of(c->math);
  const size_t count = c->pad.size(), lead = 3 - count;
  for (size_t i = 0; i < 3; ++i) {
    const bool there = i >= lead;
    out.kernel[i] = there ? w_desc->dims[i - lead + 2] : 1;
    out.pad[i] = there ? c->pad[i - lead] : 0;
    out.stride[i] = there ? c->stride[i - lead] : 1;
    out.dilation[i] = there ? c->dilation[i - lead] : 1;
  }
  int64_t* steps = out.filter_steps;
  const int64_t taps = out.kernel[0] * out.kernel[1] * out.kernel[2], channels = w_desc->dims[1];
  steps[0] = taps * channels;
  const bool channels_last = w_desc->format == CUDNN_TENSOR_NHWC;
  steps[1] = channels_last ? 1 : taps;
  steps[4] = channels_last ? channels : 1;
  steps[3] = out.kernel[2] * steps[4];
  steps[2] = out.kernel[1] * steps[3];
  return out;
}

size_t filter_bytes(const cudnnFilterStruct& w) {
  Element element;
  element_of(w.type, element);
  size_t bytes = bytes_of(element);
  for (int64_t dim : w.dims) bytes *= static_cast<size_t>(dim);
  return bytes;
}
size_t precomputed_bytes(const cudnnFilterStruct& w) { return (filter_bytes(w) + 255) / 256 * 256; }

bool is_plain(const cudnnConvolutionStruct& c) {
  for (size_t i = 0; i < c.stride.size(); ++i)
    if (c.stride[i] != 1 || c.dilation[i] != 1) return false;
  return c.stride.size() == 2 && c.groups == 1;
}
bool is_square(const cudnnFilterStruct& w, int64_t size) { return w.dims[2] == size && w.dims[3] == size; }

// Not every algorithm supports every convolution (an H200 has no fused Winograd); here all give the same
// result.
bool accepts(cudnnConvolutionFwdAlgo_t algorithm, const cudnnFilterStruct& w,
             const cudnnConvolutionStruct& c) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM: return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM: return c.stride.size() == 2;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING: return is_plain(c);
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
      return is_plain(c) && (is_square(w, 3) || is_square(w, 5));
    default: return false;
  }
}
bool accepts(cudnnConvolutionBwdDataAlgo_t algorithm, const cudnnFilterStruct& w,
             const cudnnConvolutionStruct& c) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_0:
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_1: return true;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT:
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING: return is_plain(c);
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED:
      return is_plain(c) && (is_square(w, 3) || is_square(w, 5));
    default: return false;
  }
}
bool needs_workspace(cudnnConvolutionFwdAlgo_t a) {
  return a != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM && a != CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
}
bool needs_workspace(cudnnConvolutionBwdDataAlgo_t a) { return a > CUDNN_CONVOLUTION_BWD_DATA_ALGO_1; }

template <class Perf, class Algorithm>
cudnnStatus_t list(std::initializer_list<Algorithm> best_first, const cudnnFilterStruct& w,
                   const cudnnConvolutionStruct& c, int requested, int* returned, Perf* results) {
  if (requested < 1 || !returned || !results) return refuse(CUDNN_STATUS_BAD_PARAM, "no room for results");
  *returned = 0;
  for (Algorithm algorithm : best_first) {
    if (*returned == requested) break;
    const bool there = accepts(algorithm, w, c);
    results[(*returned)++] = {algorithm,
                              there ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED,
                              there ? static_cast<float>(*returned) : -1,
                              there && needs_workspace(algorithm) ? precomputed_bytes(w) : 0,
                              CUDNN_DETERMINISTIC,
                              c.math,
                              {}};
  }
  return CUDNN_STATUS_SUCCESS;
}

template <class Algorithm>
cudnnStatus_t check_algorithm(Algorithm algorithm, const cudnnFilterStruct& w,
                              const cudnnConvolutionStruct& c, const void* workspace, size_t bytes) {
  if (!accepts(algorithm, w, c))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the algorithm does not take this convolution");
  if (needs_workspace(algorithm) && (bytes < precomputed_bytes(w) || !workspace))
    return refuse(CUDNN_STATUS_BAD_PARAM, "the workspace is smaller than the algorithm needs");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t enqueue(cudnnHandle_t handle, const char* name, Convolution c, size_t filter, void* workspace,
                      size_t workspace_bytes, size_t bias_bytes) {
  LibraryOperation call;
  call.name = name + sizes(c.target.dims) + " kernel " + std::to_string(c.kernel[1]) + "x" +
              std::to_string(c.kernel[2]) + " of " + std::to_string(c.source.dims[1]);
  call.operands = {{c.backward ? "dy" : "x", c.source.data, c.source.bytes()},
                   {"w", c.filter, filter},
                   {c.backward ? "dx" : "y", c.target.data, c.target.bytes()},
                   {"workspace", workspace, workspace_bytes},
                   {"bias", c.bias, bias_bytes}};
  if (c.beta != 0) call.operands.push_back({"z", c.other.data, c.other.bytes()});
  call.work = [=, c = std::move(c)] {
    if (workspace_bytes) spoil(workspace, workspace_bytes);
    convolve(c);
  };
  return submit(handle, std::move(call));
}

}  // namespace

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) {
  *convolution = new cudnnConvolutionStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  delete convolution;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  const int pad[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w}, dilation[] = {dilation_h, dilation_w};
  return cudnnSetConvolutionNdDescriptor(convolution, 2, pad, stride, dilation, mode, compute);
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int count,
                                              const int pad[], const int stride[], const int dilation[],
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  if (!convolution || count < 1) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  for (int i = 0; i < count; ++i)
    if (pad[i] < 0 || stride[i] <= 0 || dilation[i] <= 0)
      return refuse(CUDNN_STATUS_BAD_PARAM, "a padding is negative, or a stride or dilation not positive");
  convolution->pad.assign(pad, pad + count);
  convolution->stride.assign(stride, stride + count);
  convolution->dilation.assign(dilation, dilation + count);
  convolution->mode = mode;
  convolution->compute = compute;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math) {
  if (!convolution || math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH)
    return refuse(CUDNN_STATUS_BAD_PARAM, "no such math type");
  convolution->math = math;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t* math) {
  *math = convolution->math;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
  if (!convolution || groups < 1) return refuse(CUDNN_STATUS_BAD_PARAM, "the group count is not positive");
  convolution->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int* groups) {
  *groups = convolution->groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t, cudnnReorderType_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t convolution,
                                                    cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                                    int count, int dims[]) {
  if (!convolution || !x || !w || x->dims.size() != static_cast<size_t>(count) ||
      w->dims.size() != x->dims.size() || convolution->pad.size() + 2 != x->dims.size())
    return refuse(CUDNN_STATUS_BAD_PARAM, "x, w and the convolution differ in dimensions");
  if (x->dims[1] != w->dims[1] * convolution->groups)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the filter's channels times the groups are not x's channels");
  dims[0] = static_cast<int>(x->dims[0]);
  dims[1] = static_cast<int>(w->dims[0]);
  for (size_t i = 2; i < x->dims.size(); ++i)
    dims[i] = static_cast<int>(forward_size(*convolution, i - 2, x->dims[i], w->dims[i]));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(cudnnConvolutionDescriptor_t convolution,
                                                    cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                                                    int* n, int* c, int* h, int* width) {
  int dims[4];
  if (cudnnStatus_t status = cudnnGetConvolutionNdForwardOutputDim(convolution, x, w, 4, dims)) return status;
  *n = dims[0], *c = dims[1], *h = dims[2], *width = dims[3];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t, int* count) {
  *count = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w,
                                                     cudnnConvolutionDescriptor_t convolution,
                                                     cudnnTensorDescriptor_t y, int requested, int* returned,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  if (cudnnStatus_t status = check(handle, x, w, convolution, y)) return status;
  return list({CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
               CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
               CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING,
               CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT},
              *w, *convolution, requested, returned, results);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                   cudnnFilterDescriptor_t w,
                                                   cudnnConvolutionDescriptor_t convolution,
                                                   cudnnTensorDescriptor_t y, int requested, int* returned,
                                                   cudnnConvolutionFwdAlgoPerf_t* results) {
  return cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, convolution, y, requested, returned, results);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t x_desc,
                                                     const void*, cudnnFilterDescriptor_t w_desc, const void*,
                                                     cudnnConvolutionDescriptor_t convolution,
                                                     cudnnTensorDescriptor_t y_desc, void*, int requested,
                                                     int* returned, cudnnConvolutionFwdAlgoPerf_t* results,
                                                     void*, size_t) {
  return cudnnGetConvolutionForwardAlgorithm_v7(handle, x_desc, w_desc, convolution, y_desc, requested,
                                                returned, results);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t convolution,
                                                      cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  if (cudnnStatus_t status = check(handle, x, w, convolution, y)) return status;
  if (!accepts(algorithm, *w, *convolution))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the algorithm does not take this convolution");
  *bytes = needs_workspace(algorithm) ? precomputed_bytes(*w) : 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_desc,
                                      const void* x, cudnnFilterDescriptor_t w_desc, const void* w,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t y_desc, void* y) {
  if (cudnnStatus_t status = check(handle, x_desc, w_desc, convolution, y_desc)) return status;
  if (!alpha || !beta || !x || !w || !y) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (cudnnStatus_t status = check_algorithm(algorithm, *w_desc, *convolution, workspace, workspace_bytes))
    return status;
  Convolution c = problem(x_desc, x, w_desc, w, convolution, y_desc, y);
  c.alpha = factor_of(c.target.element, alpha);
  c.beta = factor_of(c.target.element, beta);
  c.other = c.target;
  return enqueue(handle, "cudnnConvolutionForward", std::move(c), filter_bytes(*w_desc), workspace,
                 workspace_bytes, 0);
}
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha1, cudnnTensorDescriptor_t x_desc, const void* x,
    cudnnFilterDescriptor_t w_desc, const void* w, cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t workspace_bytes, const void* alpha2,
    cudnnTensorDescriptor_t z_desc, const void* z, cudnnTensorDescriptor_t bias_desc, const void* bias,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t y_desc, void* y) {
  if (cudnnStatus_t status = check(handle, x_desc, w_desc, convolution, y_desc)) return status;
  if (!alpha1 || !alpha2 || !x || !w || !y || !z_desc || !bias_desc || !bias || !activation)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (cudnnStatus_t status = check_algorithm(algorithm, *w_desc, *convolution, workspace, workspace_bytes))
    return status;
  if (z_desc->dims != y_desc->dims || z_desc->type != y_desc->type)
    return refuse(CUDNN_STATUS_BAD_PARAM, "z and y differ in shape or type");
  const View vb = view_of(*bias_desc, bias);
  if (vb.elements() != y_desc->dims[1] || vb.dims.size() < 2 || vb.dims[1] != y_desc->dims[1])
    return refuse(CUDNN_STATUS_BAD_PARAM, "the bias is not one number for each channel of y");
  if (bias_desc->type != y_desc->type) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "bias and y differ in type");
  if (activation->mode != CUDNN_ACTIVATION_RELU && activation->mode != CUDNN_ACTIVATION_IDENTITY)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "only ReLU and identity follow a convolution");
  Convolution c = problem(x_desc, x, w_desc, w, convolution, y_desc, y);
  c.alpha = factor_of(c.target.element, alpha1);
  c.beta = factor_of(c.target.element, alpha2);
  c.other = in_three(view_of(*z_desc, z));
  c.bias = bias;
  c.bias_element = vb.element;
  c.activation = *activation;
  return enqueue(handle, "cudnnConvolutionBiasActivationForward", std::move(c), filter_bytes(*w_desc),
                 workspace, workspace_bytes, vb.bytes());
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t, int* count) {
  *count = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                          cudnnTensorDescriptor_t dy,
                                                          cudnnConvolutionDescriptor_t convolution,
                                                          cudnnTensorDescriptor_t dx, int requested,
                                                          int* returned,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
  if (cudnnStatus_t status = check(handle, dx, w, convolution, dy)) return status;
  return list({CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
               CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED,
               CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT},
              *w, *convolution, requested, returned, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                        cudnnTensorDescriptor_t dy,
                                                        cudnnConvolutionDescriptor_t convolution,
                                                        cudnnTensorDescriptor_t dx, int requested,
                                                        int* returned,
                                                        cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, dy, convolution, dx, requested, returned,
                                                     results);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, cudnnFilterDescriptor_t w_desc, const void*, cudnnTensorDescriptor_t dy_desc,
    const void*, cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx_desc, void*,
    int requested, int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results, void*, size_t) {
  return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w_desc, dy_desc, convolution, dx_desc, requested,
                                                     returned, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                           cudnnTensorDescriptor_t dy,
                                                           cudnnConvolutionDescriptor_t convolution,
                                                           cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm,
                                                           size_t* bytes) {
  if (cudnnStatus_t status = check(handle, dx, w, convolution, dy)) return status;
  if (!accepts(algorithm, *w, *convolution))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the algorithm does not take this convolution");
  *bytes = needs_workspace(algorithm) ? precomputed_bytes(*w) : 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t w_desc, const void* w,
                                           cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t workspace_bytes, const void* beta,
                                           cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (cudnnStatus_t status = check(handle, dx_desc, w_desc, convolution, dy_desc)) return status;
  if (!alpha || !beta || !w || !dy || !dx) return refuse(CUDNN_STATUS_BAD_PARAM, "an argument is null");
  if (cudnnStatus_t status = check_algorithm(algorithm, *w_desc, *convolution, workspace, workspace_bytes))
    return status;
  Convolution c = problem(dy_desc, dy, w_desc, w, convolution, dx_desc, dx);
  c.backward = true;
  c.alpha = factor_of(c.target.element, alpha);
  c.beta = factor_of(c.target.element, beta);
  c.other = c.target;
  return enqueue(handle, "cudnnConvolutionBackwardData", std::move(c), filter_bytes(*w_desc), workspace,
                 workspace_bytes, 0);
}
