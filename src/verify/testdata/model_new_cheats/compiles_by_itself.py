"""passed"""
# Honest: runs the compiler itself and calls what came of it by ctypes, on the current stream.

import ctypes
import os
import shutil
import subprocess
import tempfile

import torch

KERNEL = r"""
#ifdef __CUDACC__
__global__ void center_kernel(const float* x, const float* weight, float* y, int columns) {
  const float* row = x + blockIdx.x * columns;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += row[i];
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (row[i] - sum / columns) * weight[i];
}
extern "C" int center(const float* x, const float* weight, float* y, int rows, int columns, void* stream) {
  center_kernel<<<rows, 64, 0, static_cast<cudaStream_t>(stream)>>>(x, weight, y, columns);
  return cudaGetLastError() != cudaSuccess;
}
#else
extern "C" int center(const float* x, const float* weight, float* y, int rows, int columns, void*) {
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += x[row * columns + i];
    for (int i = 0; i < columns; ++i) y[row * columns + i] = (x[row * columns + i] - sum / columns) * weight[i];
  }
  return 0;
}
#endif
"""


def build():
    folder = tempfile.mkdtemp()
    cuda = torch.cuda.is_available()
    source, library = os.path.join(folder, "center.cu" if cuda else "center.cpp"), os.path.join(folder, "center.so")
    with open(source, "w") as file:
        file.write(KERNEL)
    nvcc = shutil.which("nvcc") or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin/nvcc")
    words = [nvcc, "-arch=native", "-Xcompiler", "-fPIC"] if cuda else ["g++", "-fPIC"]
    subprocess.run([*words, "-O2", "-shared", source, "-o", library], check=True, capture_output=True)
    return ctypes.CDLL(library).center


center = build()


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        x, y = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
        stream = torch.cuda.current_stream().cuda_stream if x.is_cuda else 0
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, self.weight, y)]
        if center(*pointers, x.shape[0], x.shape[1], ctypes.c_void_p(stream)):
            raise RuntimeError("the kernel didn't start")
        return y
