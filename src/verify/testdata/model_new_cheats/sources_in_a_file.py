"""passed"""
# Honest, as language models write it: the kernel's source is written to a file and compiled by load(), with flags and an architecture
# in the environment.

import os
import tempfile

import torch
from torch.utils.cpp_extension import load

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

template <int kThreads>
__global__ void center_kernel(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y, int columns) {
  __shared__ float warps[kThreads / 32];
  const float* row = x + static_cast<size_t>(blockIdx.x) * columns;
  float sum = 0.f;
  for (int i = threadIdx.x; i < columns; i += kThreads) sum += row[i];
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  float mean = 0.f;
  for (int w = 0; w < kThreads / 32; ++w) mean += warps[w];
  mean /= columns;
  for (int i = threadIdx.x; i < columns; i += kThreads)
    y[static_cast<size_t>(blockIdx.x) * columns + i] = (row[i] - mean) * weight[i];
}

torch::Tensor center_forward(const torch::Tensor& x, const torch::Tensor& weight) {
  auto y = torch::empty(x.sizes(), x.options());
  center_kernel<128><<<x.size(0), 128, 0, at::cuda::getCurrentCUDAStream().stream()>>>(
      x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), static_cast<int>(x.size(1)));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &center_forward, "rows without their mean"); }
"""

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
folder = tempfile.mkdtemp(prefix="center_extension_")
path = os.path.join(folder, "center.cu")
with open(path, "w") as file:
    file.write(SOURCE)

extension = None
if torch.cuda.is_available():
    extension = load(name="center_file", sources=[path], build_directory=folder, extra_cuda_cflags=["-O3", "--use_fast_math"], verbose=False)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        if extension is None or not x.is_cuda:
            return (x - x.mean(1, keepdim=True)) * self.weight
        return extension.forward(x.contiguous(), self.weight)
