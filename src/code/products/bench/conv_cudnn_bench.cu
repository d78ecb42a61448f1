// Transposed convolutions by cuDNN, NHWC: as gradients, as convolutions with flipped filters (stride 1), and
// phase by phase in one convolution with the filters of every phase (other strides; it multiplies some zeros
// if the kernel is no multiple of the stride). Milliseconds without layout conversion (measure.h has the
// command); TFLOP/s counts the taps inside the image, for every method.
#include <cuda_fp16.h>

#include "measure.h"
#include "stitch/runtime/cudnn.h"

namespace {

struct Shape {
  const char* name;
  int dimensions, batch, channels, filters;
  int size[3], kernel[3], stride[3], padding[3], out[3];
};

// L1 and L2: KernelBench's levels, and the task.
constexpr Shape shapes[] = {
    {"L1-57", 2, 8, 64, 64, {1024, 1024}, {3, 3}, {1, 1}, {0, 0}, {1026, 1026}},
    {"L1-58", 3, 16, 32, 16, {16, 32, 64}, {3, 5, 7}, {1, 1, 1}, {0, 0, 0}, {18, 36, 70}},
    {"L1-61", 3, 8, 48, 48, {64, 64, 64}, {3, 3, 3}, {1, 1, 1}, {0, 0, 0}, {66, 66, 66}},
    {"L1-64", 2, 64, 128, 128, {1, 65536}, {1, 3}, {1, 1}, {0, 0}, {1, 65538}},
    {"L1-65", 2, 8, 64, 64, {512, 512}, {3, 7}, {1, 1}, {0, 0}, {514, 518}},
    {"L1-68", 3, 16, 32, 64, {64, 64, 64}, {3, 5, 5}, {1, 1, 1}, {0, 0, 0}, {66, 68, 68}},
    {"L1-69", 2, 64, 64, 128, {128, 256}, {3, 5}, {1, 1}, {0, 0}, {130, 260}},
    {"L1-70", 3, 8, 48, 24, {96, 96, 96}, {3, 3, 3}, {1, 1, 1}, {0, 0, 0}, {98, 98, 98}},
    {"L1-71", 2, 8, 32, 32, {512, 1024}, {3, 3}, {1, 1}, {0, 0}, {514, 1026}},
    {"L1-73", 3, 4, 32, 32, {32, 64, 128}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {63, 127, 255}},
    {"L1-78", 2, 8, 32, 32, {512, 1024}, {3, 7}, {1, 1}, {1, 3}, {512, 1024}},
    {"L2-2", 2, 128, 64, 64, {128, 128}, {3, 3}, {2, 2}, {1, 1}, {256, 256}},
    {"L2-5", 2, 32, 64, 64, {256, 256}, {4, 4}, {2, 2}, {1, 1}, {513, 513}},
    {"L2-10", 2, 128, 64, 64, {256, 256}, {3, 3}, {1, 1}, {1, 1}, {256, 256}},
    {"L2-11", 2, 512, 64, 128, {32, 32}, {5, 5}, {1, 1}, {1, 1}, {34, 34}},
    {"L2-13", 3, 16, 16, 64, {32, 128, 128}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {32, 128, 128}},
    {"L2-15", 3, 16, 16, 32, {16, 32, 32}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {31, 63, 63}},
    {"L2-20", 3, 16, 32, 64, {16, 32, 32}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {32, 64, 64}},
    {"L2-34", 3, 32, 32, 64, {16, 32, 32}, {4, 4, 4}, {2, 2, 2}, {1, 1, 1}, {32, 64, 64}},
    {"L2-36", 2, 16, 64, 128, {128, 128}, {3, 3}, {2, 2}, {1, 1}, {256, 256}},
    {"L2-42", 2, 16, 64, 128, {512, 512}, {3, 3}, {1, 1}, {0, 0}, {514, 514}},
    {"L2-61", 3, 16, 64, 128, {32, 32, 32}, {3, 3, 3}, {1, 1, 1}, {0, 0, 0}, {34, 34, 34}},
    {"L2-77", 3, 16, 64, 128, {16, 32, 32}, {5, 5, 5}, {1, 1, 1}, {0, 0, 0}, {20, 36, 36}},
    {"L2-91", 2, 128, 64, 128, {64, 64}, {4, 4}, {2, 2}, {1, 1}, {129, 129}},
    {"L2-93", 2, 128, 64, 128, {64, 64}, {4, 4}, {2, 2}, {0, 0}, {130, 130}},
    {"L2-100", 3, 16, 64, 128, {24, 48, 48}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {47, 95, 95}},
    {"U-Net", 2, 8, 128, 64, {32, 256}, {2, 2}, {2, 2}, {0, 0}, {64, 512}},
};

ConvolutionSpec spec_of(const Shape& shape, bool half) {
  ConvolutionSpec spec{shape.dimensions, shape.batch, shape.channels, shape.filters, 1};
  for (int d = 0; d < 3; ++d) {
    spec.size_in[d] = shape.size[d];
    spec.size_out[d] = shape.out[d];
    spec.kernel[d] = shape.kernel[d];
    spec.stride[d] = shape.stride[d];
    spec.padding[d] = shape.padding[d];
    spec.dilation[d] = 1;
  }
  spec.layout = CUDNN_TENSOR_NHWC;
  spec.type = half ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
  spec.math = CUDNN_DEFAULT_MATH;
  return spec;
}

ConvolutionSpec as_gradient(ConvolutionSpec spec) {
  spec.transposed = true;
  return spec;
}

// Output o takes tap (o + padding) % stride + j * stride of pixel (o + padding) / stride - j.
ConvolutionSpec by_phases(ConvolutionSpec spec) {
  for (int d = 0; d < spec.dimensions; ++d) {
    const int stride = spec.stride[d], taps = (spec.kernel[d] + stride - 1) / stride;
    const int first = spec.padding[d] / stride, last = (spec.size_out[d] - 1 + spec.padding[d]) / stride;
    spec.channels_out *= stride;
    spec.padding[d] = std::max(taps - 1 - first, last - spec.size_in[d] + 1);
    spec.kernel[d] = taps;
    spec.stride[d] = 1;
    spec.size_out[d] = spec.size_in[d] + 2 * spec.padding[d] - taps + 1;
  }
  return spec;
}

int64_t product(const int* values, int count) {
  int64_t all = 1;
  for (int i = 0; i < count; ++i) all *= values[i];
  return all;
}

double time_of(Cudnn& library, const ConvolutionSpec& spec, const Buffer<char>& x, const Buffer<char>& weight,
               const Buffer<char>& result) {
  Convolution convolution;
  if (convolution.create(library, spec) != STITCH_OK ||
      convolution.enqueue(x.data, weight.data, result.data, nullptr) != STITCH_OK)
    return 0;
  return ::time_of([&] { OK(convolution.enqueue(x.data, weight.data, result.data, nullptr)); });
}

void measure(const Shape& shape, Cudnn& library) {
  const bool strided = product(shape.stride, shape.dimensions) > 1;
  const double flops = 2.0 * shape.batch * shape.channels * shape.filters *
                       static_cast<double>(product(shape.size, shape.dimensions)) *
                       static_cast<double>(product(shape.kernel, shape.dimensions));
  for (bool half : {true, false}) {
    const ConvolutionSpec gradient = as_gradient(spec_of(shape, half)),
                          forward = by_phases(spec_of(shape, half));
    const int64_t bytes = half ? 2 : 4, dims = shape.dimensions;
    auto image = [&](int channels, const int* size) {
      return bytes * shape.batch * channels * product(size, static_cast<int>(dims));
    };
    Buffer<char> x(image(shape.channels, shape.size));
    Buffer<char> weight(bytes * shape.channels * forward.channels_out *
                        product(forward.kernel, shape.dimensions));
    Buffer<char> result(
        std::max(image(shape.filters, shape.out), image(forward.channels_out, forward.size_out)));
    CUDA(cudaMemset(x.data, 0x2c, static_cast<size_t>(image(shape.channels, shape.size))));
    CUDA(cudaMemset(weight.data, 0x2a, static_cast<size_t>(bytes * shape.channels * forward.channels_out)));
    const double first = time_of(library, gradient, x, weight, result),
                 second = time_of(library, forward, x, weight, result);
    ConvolutionSpec with_bias = forward;
    with_bias.bias = weight.data;
    const double third = time_of(library, with_bias, x, weight, result);
    say("%-7s %-5s gradient %8.3f ms %4.0f TFLOP/s   %-8s %8.3f ms %4.0f TFLOP/s  %5.2fx  with a bias %8.3f "
        "ms\n",
        shape.name, half ? "fp16" : "TF32", first, flops / first / 1e9, strided ? "phases" : "flipped",
        second, flops / second / 1e9, first / second, third);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) only = arguments[1];
  Cudnn library;
  OK(library.create());
  for (const Shape& shape : shapes)
    if (wanted(shape.name)) measure(shape, library);
}
