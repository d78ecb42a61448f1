"""passed"""
# task: small_conv
# Honest: one kernel of its own beside PyTorch's convolution, by load_inline with a declaration and a list of functions; without a GPU
# PyTorch's own.

import torch
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_mean_kernel(const float* x, float* out, int size) {
    __shared__ float sums[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        sum += fmaxf(x[blockIdx.x * size + i], 0.0f);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0] / size;
}

torch::Tensor relu_mean_cuda(torch::Tensor x) {
    auto out = torch::zeros({x.size(0), x.size(1)}, x.options());
    relu_mean_kernel<<<x.size(0) * x.size(1), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(2) * x.size(3));
    return out;
}
"""

cpp_source = "torch::Tensor relu_mean_cuda(torch::Tensor x);"

relu_mean = None
if torch.cuda.is_available():
    relu_mean = load_inline(name="relu_mean", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["relu_mean_cuda"], verbose=False,
                            extra_cflags=[""], extra_ldflags=[""])


class ModelNew(torch.nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.linear = torch.nn.Linear(channels, classes)
        self.relu_mean = relu_mean

    def forward(self, x):
        x = F.conv2d(x, self.conv.weight, self.conv.bias, padding=1)
        pooled = self.relu_mean.relu_mean_cuda(x) if self.relu_mean is not None else torch.relu(x).mean((2, 3))
        return self.linear(pooled)
