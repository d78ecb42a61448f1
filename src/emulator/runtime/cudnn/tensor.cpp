// Descriptors of tensors and filters.
#include <algorithm>

#include "cudnn/descriptors.h"

using namespace stitch_emulated;

namespace {

// Strides of a packed tensor, NHWC or NCHW.
std::vector<int64_t> packed_steps(const std::vector<int64_t>& dims, bool channels_last) {
  std::vector<int64_t> steps(dims.size());
  int64_t step = 1;
  if (channels_last) {
    steps[1] = 1;
    step = dims[1];
  }
  for (size_t i = dims.size(); i-- > 0;) {
    if (channels_last && i == 1) continue;
    steps[i] = step;
    step *= dims[i];
  }
  return steps;
}

cudnnStatus_t set(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, std::vector<int64_t> dims,
                  std::vector<int64_t> steps) {
  Element element;
  if (!tensor || !element_of(type, element)) return refuse(CUDNN_STATUS_BAD_PARAM, "no such data type");
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] <= 0 || steps[i] <= 0)
      return refuse(CUDNN_STATUS_BAD_PARAM, "a dimension or stride is not positive");
  tensor->type = type;
  tensor->dims = std::move(dims);
  tensor->steps = std::move(steps);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) {
  *tensor = new cudnnTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  delete tensor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  const int dims[] = {n, c, h, w};
  return cudnnSetTensorNdDescriptorEx(tensor, format, type, 4, dims);
}
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c,
                                           int h, int w, int n_stride, int c_stride, int h_stride,
                                           int w_stride) {
  return set(tensor, type, {n, c, h, w}, {n_stride, c_stride, h_stride, w_stride});
}
cudnnStatus_t cudnnGetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t* type, int* n,
                                         int* c, int* h, int* w, int* n_stride, int* c_stride, int* h_stride,
                                         int* w_stride) {
  if (!tensor || tensor->dims.size() != 4) return refuse(CUDNN_STATUS_BAD_PARAM, "the tensor is not 4-d");
  *type = tensor->type;
  int* dims[] = {n, c, h, w};
  int* steps[] = {n_stride, c_stride, h_stride, w_stride};
  for (size_t i = 0; i < 4; ++i) {
    *dims[i] = static_cast<int>(tensor->dims[i]);
    *steps[i] = static_cast<int>(tensor->steps[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count,
                                         const int dims[], const int strides[]) {
  if (count < 2 || count > CUDNN_DIM_MAX)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a tensor has 2 to 8 dimensions");
  return set(tensor, type, {dims, dims + count}, {strides, strides + count});
}
cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                           cudnnDataType_t type, int count, const int dims[]) {
  if (count < 2 || count > CUDNN_DIM_MAX)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a tensor has 2 to 8 dimensions");
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "vectors of channels are not emulated");
  std::vector<int64_t> shape(dims, dims + count);
  std::vector<int64_t> steps = packed_steps(shape, format == CUDNN_TENSOR_NHWC);
  return set(tensor, type, std::move(shape), std::move(steps));
}
cudnnStatus_t cudnnGetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, int requested, cudnnDataType_t* type,
                                         int* count, int dims[], int strides[]) {
  if (!tensor) return refuse(CUDNN_STATUS_BAD_PARAM, "the tensor is null");
  *type = tensor->type;
  *count = static_cast<int>(tensor->dims.size());
  for (int i = 0; i < std::min(requested, *count); ++i) {
    if (dims) dims[i] = static_cast<int>(tensor->dims[static_cast<size_t>(i)]);
    if (strides) strides[i] = static_cast<int>(tensor->steps[static_cast<size_t>(i)]);
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorSizeInBytes(cudnnTensorDescriptor_t tensor, size_t* bytes) {
  if (!tensor || !bytes) return refuse(CUDNN_STATUS_BAD_PARAM, "the tensor is null");
  *bytes = view_of(*tensor, nullptr).bytes();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) {
  *filter = new cudnnFilterStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  delete filter;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  const int dims[] = {k, c, h, w};
  return cudnnSetFilterNdDescriptor(filter, type, format, 4, dims);
}
cudnnStatus_t cudnnGetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* k, int* c, int* h, int* w) {
  if (!filter || filter->dims.size() != 4) return refuse(CUDNN_STATUS_BAD_PARAM, "the filter is not 4-d");
  *type = filter->type;
  *format = filter->format;
  int* dims[] = {k, c, h, w};
  for (size_t i = 0; i < 4; ++i) *dims[i] = static_cast<int>(filter->dims[i]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int count, const int dims[]) {
  Element element;
  if (!filter || !element_of(type, element)) return refuse(CUDNN_STATUS_BAD_PARAM, "no such data type");
  if (count < 3 || count > CUDNN_DIM_MAX || format == CUDNN_TENSOR_NCHW_VECT_C)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a filter has 3 to 8 dimensions");
  for (int i = 0; i < count; ++i)
    if (dims[i] <= 0) return refuse(CUDNN_STATUS_BAD_PARAM, "a dimension is not positive");
  filter->type = type;
  filter->format = format;
  filter->dims.assign(dims, dims + count);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetFilterNdDescriptor(cudnnFilterDescriptor_t filter, int requested, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* count, int dims[]) {
  if (!filter) return refuse(CUDNN_STATUS_BAD_PARAM, "the filter is null");
  *type = filter->type;
  *format = filter->format;
  *count = static_cast<int>(filter->dims.size());
  for (int i = 0; i < std::min(requested, *count); ++i)
    dims[i] = static_cast<int>(filter->dims[static_cast<size_t>(i)]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetFilterSizeInBytes(cudnnFilterDescriptor_t filter, size_t* bytes) {
  if (!filter || !bytes) return refuse(CUDNN_STATUS_BAD_PARAM, "the filter is null");
  Element element;
  element_of(filter->type, element);
  *bytes = bytes_of(element);
  for (int64_t dim : filter->dims) *bytes *= static_cast<size_t>(dim);
  return CUDNN_STATUS_SUCCESS;
}
