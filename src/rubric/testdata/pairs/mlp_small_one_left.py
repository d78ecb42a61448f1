import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void linear_kernel(const float* x, const float* w, const float* bias, float* y, int M, int N, int K, bool act) {
  __shared__ float xs[32][32];
  __shared__ float ws[32][33];
  int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
  float sum = bias[col];
  for (int t = 0; t < K; t += 32) {
    xs[threadIdx.y][threadIdx.x] = x[row * K + t + threadIdx.x];
    ws[threadIdx.y][threadIdx.x] = w[(blockIdx.x * 32 + threadIdx.y) * K + t + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += xs[threadIdx.y][k] * ws[threadIdx.x][k];
    __syncthreads();
  }
  y[row * N + col] = act ? fmaxf(sum, 0.f) : sum;
}
torch::Tensor linear_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor bias, bool act) {
  auto y = torch::empty({x.size(0), w.size(0)}, x.options());
  linear_kernel<<<dim3(w.size(0) / 32, x.size(0) / 32), dim3(32, 32)>>>(x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(0), w.size(0), x.size(1), act);
  return y;
}
"""
ext = load_inline(name="ext", cpp_sources="", cuda_sources=source, functions=['linear_cuda'])


class ModelNew(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.fc1 = nn.Linear(1024, 4096)
        self.fc2 = nn.Linear(4096, 4096)
        self.fc3 = nn.Linear(4096, 64)

    def forward(self, x):
        x = ext.linear_cuda(x, self.fc1.weight, self.fc1.bias, True)
        x = ext.linear_cuda(x, self.fc2.weight, self.fc2.bias, True)
        return self.fc3(x)
