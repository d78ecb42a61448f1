// Convolutions with their epilogues as operation graphs of cuDNN's, channels last, against the convolution
// alone by descriptors: which graphs it has engines for, how long those take to build and to run (measure.h
// has the command). Microseconds of a CUDA graph that holds the call; after the slash what creating it took
// in milliseconds. err: the largest difference to the epilogue on the host.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <chrono>

#include "measure.h"
#include "stitch/runtime/cudnn_graph.h"

namespace {

struct Shape {
  const char* name;
  int batch, channels, filters, size, kernel, stride, groups;
};
constexpr Shape shapes[] = {
    {"stem-7x7", 32, 8, 64, 224, 7, 2, 1},    {"stem-3x3", 32, 8, 16, 224, 3, 2, 1},
    {"3x3-64", 32, 64, 64, 56, 3, 1, 1},      {"3x3-128/2", 32, 64, 128, 56, 3, 2, 1},
    {"3x3-256", 32, 256, 256, 14, 3, 1, 1},   {"3x3-512", 32, 512, 512, 7, 3, 1, 1},
    {"1x1-64-256", 32, 64, 256, 56, 1, 1, 1}, {"1x1-256-64", 32, 256, 64, 56, 1, 1, 1},
    {"1x1-256/2", 32, 256, 512, 56, 1, 2, 1}, {"1x1-1024", 32, 1024, 256, 14, 1, 1, 1},
    {"1x1-16-96", 32, 16, 96, 112, 1, 1, 1},  {"1x1-144-24", 32, 144, 24, 56, 1, 1, 1},
    {"1x1-40-240", 32, 40, 240, 28, 1, 1, 1}, {"1x1-se", 32, 240, 12, 1, 1, 1, 1},
    {"3x3-g32", 32, 128, 128, 56, 3, 1, 32},
};

template <class Call>
double replayed(Call call) {
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  call(stream);
  CUDA(cudaStreamSynchronize(stream));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  call(stream);
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  const double out = time_of([&] { CUDA(cudaGraphLaunch(exec, nullptr)); });
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaStreamDestroy(stream));
  return 1e3 * out;
}

struct Epilogue {
  const char* name;
  std::vector<FusedStep> steps;
  bool residual;
  float (*host)(float, float, float);  // sum, bias, residual
};

template <class T>
void measure(const Shape& s, Cudnn& library, cudnnDataType_t type, const char* type_name) {
  const int out = (s.size + 2 * (s.kernel / 2) - s.kernel) / s.stride + 1;
  ConvolutionSpec spec{2, s.batch, s.channels, s.filters, s.groups};
  for (int d = 0; d < 2; ++d) {
    spec.size_in[d] = s.size;
    spec.size_out[d] = out;
    spec.kernel[d] = s.kernel;
    spec.stride[d] = s.stride;
    spec.padding[d] = s.kernel / 2;
    spec.dilation[d] = 1;
  }
  spec.layout = CUDNN_TENSOR_NHWC;
  spec.type = type;
  spec.math = CUDNN_DEFAULT_MATH;
  const int64_t x_count = int64_t{s.batch} * s.channels * s.size * s.size,
                y_count = int64_t{s.batch} * s.filters * out * out,
                w_count = int64_t{s.filters} * s.channels / s.groups * s.kernel * s.kernel;
  Buffer<T> x(x_count), w(w_count), y(y_count), alone(y_count), z(y_count), narrow(s.filters);
  Buffer<float> bias(s.filters);
  draw_normal(x.data, x_count, 1, 1.0f);
  draw_normal(w.data, w_count, 2, 1.0f / std::sqrt(static_cast<float>(w_count / s.filters)));
  draw_normal(z.data, y_count, 3, 1.0f);
  draw_normal(bias.data, s.filters, 4, 1.0f);
  draw_normal(narrow.data, s.filters, 4, 1.0f);
  const double bytes = static_cast<double>(sizeof(T)) * static_cast<double>(x_count + w_count + y_count);
  say("%-11s %-4s bytes %5.1f us | descriptors: ", s.name, type_name, bytes / 4.2e6);
  for (bool with_bias : {false, true}) {
    ConvolutionSpec own = spec;
    own.bias = with_bias ? narrow.data : nullptr;
    own.relu = with_bias;
    Convolution convolution;
    if (convolution.create(library, own) != STITCH_OK) {
      say("%s none ", with_bias ? "bias+relu" : "alone");
      continue;
    }
    T* to = with_bias ? y.data : alone.data;
    say("%s %6.1f ", with_bias ? "bias+relu" : "alone",
        replayed([&](cudaStream_t on) { OK(convolution.enqueue(x.data, w.data, to, on)); }));
  }
  say("| graph: ");
  const Epilogue epilogues[] = {
      {"bias+relu",
       {{CUDNN_POINTWISE_ADD, -1, FusedStep::operand, 0}, {CUDNN_POINTWISE_RELU_FWD, 0}},
       false,
       [](float v, float b, float) { return std::max(v + b, 0.0f); }},
      {"bias+add+relu",
       {{CUDNN_POINTWISE_ADD, -1, FusedStep::operand, 0},
        {CUDNN_POINTWISE_ADD, 0, FusedStep::operand, 1},
        {CUDNN_POINTWISE_RELU_FWD, 1}},
       true,
       [](float v, float b, float r) { return std::max(v + b + r, 0.0f); }},
      {"bias+silu",
       {{CUDNN_POINTWISE_ADD, -1, FusedStep::operand, 0}, {CUDNN_POINTWISE_SWISH_FWD, 0}},
       false,
       [](float v, float b, float) { return (v + b) / (1 + std::exp(-v - b)); }},
      {"bias+hardswish",
       {{CUDNN_POINTWISE_ADD, -1, FusedStep::operand, 0},
        {CUDNN_POINTWISE_ADD, 0, FusedStep::constant, 0, 3.0f},
        {CUDNN_POINTWISE_RELU_FWD, 1, FusedStep::nothing, 0, 0, 6.0},
        {CUDNN_POINTWISE_MUL, 2, FusedStep::step, 0},
        {CUDNN_POINTWISE_MUL, 3, FusedStep::constant, 0, 1.0f / 6}},
       false,
       [](float v, float b, float) { return (v + b) * std::clamp(v + b + 3, 0.0f, 6.0f) / 6; }},
  };
  for (const Epilogue& epilogue : epilogues) {
    const auto begin = std::chrono::steady_clock::now();
    FusedConvolution fused;
    std::vector<FusedOperand> operands = {{CUDNN_DATA_FLOAT}};
    if (epilogue.residual) operands.push_back({type, true, true});
    StitchStatus status = fused.create(library, spec, epilogue.steps, operands);
    if (status == STITCH_OK) status = library.settle();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (status != STITCH_OK || !fused.fused()) {
      say("%s none (%s) ", epilogue.name, last_error_text);
      continue;
    }
    auto call = [&](cudaStream_t on) {
      if (epilogue.residual)
        OK(fused.enqueue(x.data, w.data, y.data, {bias.data, z.data}, on));
      else
        OK(fused.enqueue(x.data, w.data, y.data, {bias.data}, on));
    };
    const double time = replayed(call);
    const size_t some = static_cast<size_t>(std::min<int64_t>(y_count, 100000));
    std::vector<T> got(some), sums(some), added(some);
    std::vector<float> shift(static_cast<size_t>(s.filters));
    CUDA(cudaMemcpy(got.data(), y.data, some * sizeof(T), cudaMemcpyDefault));
    CUDA(cudaMemcpy(sums.data(), alone.data, some * sizeof(T), cudaMemcpyDefault));
    CUDA(cudaMemcpy(added.data(), z.data, some * sizeof(T), cudaMemcpyDefault));
    CUDA(cudaMemcpy(shift.data(), bias.data, shift.size() * 4, cudaMemcpyDefault));
    float worst = 0;
    for (size_t i = 0; i < some; ++i)
      worst = std::max(worst, std::abs(static_cast<float>(got[i]) -
                                       epilogue.host(static_cast<float>(sums[i]), shift[i % shift.size()],
                                                     static_cast<float>(added[i]))));
    say("%s %6.1f/%.0f ms err %.0e ", epilogue.name, time, 1e3 * seconds, static_cast<double>(worst));
  }
  say("\n");
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) only = arguments[1];
  Cudnn library;
  OK(library.create());
  say("cuDNN %d\n", static_cast<int>(cudnnGetVersion()));
  for (const Shape& shape : shapes) {
    if (!wanted(shape.name)) continue;
    measure<__half>(shape, library, CUDNN_DATA_HALF, "fp16");
    measure<float>(shape, library, CUDNN_DATA_FLOAT, "tf32");
  }
  measure<__nv_bfloat16>(shapes[2], library, CUDNN_DATA_BFLOAT16, "bf16");
}
