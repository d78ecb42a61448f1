// graph "small_net"
// parameter %conv.weight : f32[16,3,3,3]
// parameter %conv.bias : f32[16]
// parameter %fc.weight : f32[10,1024]
// parameter %fc.bias : f32[10]
// input %x : f32[64,3,16,16]
// %conv2d = conv(%x, %conv.weight, %conv.bias) stride=[1,1] padding=[1,1] dilation=[1,1] : f32[64,16,16,16] @ "small_net.py:14, in forward: x = F.relu(self.conv(x))" "conv"
// %relu = relu(%conv2d) : f32[64,16,16,16] @ "small_net.py:14, in forward: x = F.relu(self.conv(x))"
// %pool = max_pool(%relu) kernel=[2,2] stride=[2,2] padding=[0,0] dilation=[1,1] : f32[64,16,8,8] @ "small_net.py:15, in forward: x = F.max_pool2d(x, 2).flatten(1)"
// %flatten = reshape(%pool) shape=[64,1024] : f32[64,1024] @ "small_net.py:15, in forward: x = F.max_pool2d(x, 2).flatten(1)"
// %linear = linear(%flatten, %fc.weight, %fc.bias) : f32[64,10] @ "small_net.py:16, in forward: return F.softmax(self.fc(x), 1)" "fc"
// %softmax = softmax(%linear) dim=1 : f32[64,10] @ "small_net.py:16, in forward: return F.softmax(self.fc(x), 1)"
// output %softmax
// end

// file: manifest.cu
// What this program is; the tensors of the ABI, in order.
#include "settings.h"
#include "stitch/program.h"

// What each may be, and what it is.
namespace settings {
stitch::Setting pool_threads("pool.threads", {64, 128, 256}, 256);
stitch::Setting softmax_threads("softmax.threads", {64, 128, 256}, 256);
stitch::Setting programmatic_launches("programmatic_launches", {0, 1}, 1);
}  // namespace settings

int stitch_set(const char* name, int64_t value) {
  return stitch::set_one_of(
      {&settings::pool_threads, &settings::softmax_threads, &settings::programmatic_launches}, name, value);
}

const char* stitch_manifest(void) {
  return R"manifest({
  "stitch": 1,
  "name": "small_net",
  "class": "default",
  "architecture": "sm_90a",
  "needs": "sm_80",
  "parameters": [
    {"name":"conv.weight","role":"parameter","dtype":"f32","shape":[16,3,3,3],"data":"conv.weight"},
    {"name":"conv.bias","role":"parameter","dtype":"f32","shape":[16],"data":"conv.bias"},
    {"name":"fc.weight","role":"parameter","dtype":"f32","shape":[10,1024],"data":"fc.weight"},
    {"name":"fc.bias","role":"parameter","dtype":"f32","shape":[10],"data":"fc.bias"}
  ],
  "inputs": [
    {"name":"x","role":"input","dtype":"f32","shape":[64,3,16,16]}
  ],
  "outputs": [
    {"name":"softmax","role":"output","dtype":"f32","shape":[64,10]}
  ],
  "regions": [
    {
      "name": "conv_relu",
      "file": "regions/conv_relu.cu",
      "technique": "conv.direct",
      "nodes": ["conv2d","relu"],
      "reads": [
        {"value":"x","dtype":"f32","shape":[64,3,16,16]}
      ],
      "writes": [
        {"value":"relu","dtype":"f32","shape":[64,16,16,16]}
      ]
    },
    {
      "name": "pool",
      "file": "regions/pool.cu",
      "technique": "loop",
      "nodes": ["pool"],
      "reads": [
        {"value":"relu","dtype":"f32","shape":[64,16,16,16]}
      ],
      "writes": [
        {"value":"pool","dtype":"f32","shape":[64,16,8,8]}
      ]
    },
    {
      "name": "fc",
      "file": "regions/fc.cu",
      "technique": "matmul.vector",
      "nodes": ["flatten","linear"],
      "reads": [
        {"value":"pool","dtype":"f32","shape":[64,16,8,8]}
      ],
      "writes": [
        {"value":"linear","dtype":"f32","shape":[64,10]}
      ]
    },
    {
      "name": "softmax",
      "file": "regions/softmax.cu",
      "technique": "loop",
      "nodes": ["softmax"],
      "reads": [
        {"value":"linear","dtype":"f32","shape":[64,10]}
      ],
      "writes": [
        {"value":"softmax","dtype":"f32","shape":[64,10]}
      ]
    }
  ],
  "libraries": [],
  "settings": [
    {"name":"pool.threads","region":"pool","values":[64,128,256],"value":256},
    {"name":"softmax.threads","region":"softmax","values":[64,128,256],"value":256},
    {"name":"programmatic_launches","values":[0,1],"value":1}
  ]
}
)manifest";
}
// file: program.cu
// small_net: 4 regions, replayed as one CUDA graph.
#include "regions.h"
#include "settings.h"
#include "stitch/runtime/arena.h"
#include "stitch/runtime/exports.h"
#include "stitch/runtime/graph.h"
#include "stitch/runtime/launch.h"

namespace {

constexpr auto parameters =
    stitch::contracts(stitch::contract("conv.weight", STITCH_F32, {16, 3, 3, 3}),
                      stitch::contract("conv.bias", STITCH_F32, {16}),
                      stitch::contract("fc.weight", STITCH_F32, {10, 1024}),
                      stitch::contract("fc.bias", STITCH_F32, {10}));
constexpr auto inputs = stitch::contracts(stitch::contract("x", STITCH_F32, {64, 3, 16, 16}));
constexpr auto outputs = stitch::contracts(stitch::contract("softmax", STITCH_F32, {64, 10}));

constexpr size_t arena_bytes = 1353984;

}  // namespace

struct StitchProgram {
  int device = 0;
  stitch::Arena arena;
  stitch::GraphCache graphs;
  const int pool_threads = settings::pool_threads;
  const int softmax_threads = settings::softmax_threads;
  const int programmatic_launches = settings::programmatic_launches;
  float* conv_weight = nullptr;    // (16, 3, 3, 3)
  float* conv_bias = nullptr;      // (16)
  float* fc_weight = nullptr;      // (10, 1024)
  float* fc_bias = nullptr;        // (10)
  float* conv_relu_out = nullptr;  // (64, 16, 16, 16)
  float* pool_out = nullptr;       // (64, 16, 8, 8)
  float* fc_out = nullptr;         // (64, 10)

  StitchStatus create(const StitchTensor* params) {
    STITCH_OK_OR_RETURN(graphs.create());
    STITCH_OK_OR_RETURN(arena.allocate(arena_bytes));
    STITCH_OK_OR_RETURN(arena.place("conv_relu_out", 0, 262144, &conv_relu_out));
    STITCH_OK_OR_RETURN(arena.place("pool_out", 1048576, 65536, &pool_out));
    STITCH_OK_OR_RETURN(arena.place("fc_out", 0, 640, &fc_out));
    STITCH_OK_OR_RETURN(arena.place("conv_weight", 1310720, 432, &conv_weight));
    STITCH_OK_OR_RETURN(stitch::copy_weight(conv_weight, params[0], 432));
    STITCH_OK_OR_RETURN(arena.place("conv_bias", 1312512, 16, &conv_bias));
    STITCH_OK_OR_RETURN(stitch::copy_weight(conv_bias, params[1], 16));
    STITCH_OK_OR_RETURN(arena.place("fc_weight", 1312768, 10240, &fc_weight));
    STITCH_OK_OR_RETURN(stitch::copy_weight(fc_weight, params[2], 10240));
    STITCH_OK_OR_RETURN(arena.place("fc_bias", 1353728, 10, &fc_bias));
    STITCH_OK_OR_RETURN(stitch::copy_weight(fc_bias, params[3], 10));
    return STITCH_OK;
  }

  // One forward pass.
  StitchStatus enqueue(const StitchTensor* in, const StitchTensor* out, cudaStream_t stream) {
    (void)in, (void)out, (void)stream;
    const stitch::ProgrammaticLaunches launches(programmatic_launches != 0);
    // small_net.py:14: x = F.relu(self.conv(x))
    STITCH_OK_OR_RETURN(
        enqueue_conv_relu(stitch::data<const float>(in[0]), conv_weight, conv_bias, conv_relu_out, stream));
    // small_net.py:15: x = F.max_pool2d(x, 2).flatten(1)
    STITCH_OK_OR_RETURN(enqueue_pool(conv_relu_out, pool_out, pool_threads, stream));
    // small_net.py:15: x = F.max_pool2d(x, 2).flatten(1) (and 1 more line)
    STITCH_OK_OR_RETURN(enqueue_fc(pool_out, fc_weight, fc_bias, fc_out, stream));
    // small_net.py:16: return F.softmax(self.fc(x), 1)
    STITCH_OK_OR_RETURN(enqueue_softmax(fc_out, stitch::data<float>(out[0]), softmax_threads, stream));
    return STITCH_OK;
  }

  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t caller) {
    return graphs.run(in, static_cast<int>(inputs.size()), out, static_cast<int>(outputs.size()), caller,
                      [&](cudaStream_t stream) { return enqueue(in, out, stream); });
  }
};

int stitch_create(const StitchTensor* params, int count, int device, StitchProgram** out) {
  return stitch::create_program(parameters, params, count, device, out);
}
int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in, StitchTensor* out, int n_out,
               void* stream) {
  return stitch::run_program(program, inputs, in, n_in, outputs, out, n_out, stream);
}
void stitch_destroy(StitchProgram* program) { stitch::destroy_program(program); }
const char* stitch_last_error(void) { return stitch::last_error(); }

// For a check of each region alone; stitch_run needs none of it.
int stitch_run_region(StitchProgram* program, int region, const StitchTensor* in, int n_in, StitchTensor* out,
                      int n_out, void* stream) {
  using Tensors = const StitchTensor*;
  switch (region) {
    case 0: {  // conv_relu, by conv.direct
      constexpr auto takes = stitch::contracts(stitch::contract("x", STITCH_F32, {64, 3, 16, 16}));
      constexpr auto gives = stitch::contracts(stitch::contract("relu", STITCH_F32, {64, 16, 16, 16}));
      auto enqueue = [&](Tensors reads, Tensors writes, cudaStream_t on) {
        (void)reads, (void)writes;
        return enqueue_conv_relu(stitch::data<const float>(reads[0]), program->conv_weight,
                                 program->conv_bias, stitch::data<float>(writes[0]), on);
      };
      return stitch::run_region(program, takes, in, n_in, gives, out, n_out, stream, enqueue);
    }
    case 1: {  // pool, by loop
      constexpr auto takes = stitch::contracts(stitch::contract("relu", STITCH_F32, {64, 16, 16, 16}));
      constexpr auto gives = stitch::contracts(stitch::contract("pool", STITCH_F32, {64, 16, 8, 8}));
      auto enqueue = [&](Tensors reads, Tensors writes, cudaStream_t on) {
        (void)reads, (void)writes;
        return enqueue_pool(stitch::data<const float>(reads[0]), stitch::data<float>(writes[0]),
                            program->pool_threads, on);
      };
      return stitch::run_region(program, takes, in, n_in, gives, out, n_out, stream, enqueue);
    }
    case 2: {  // fc, by matmul.vector
      constexpr auto takes = stitch::contracts(stitch::contract("pool", STITCH_F32, {64, 16, 8, 8}));
      constexpr auto gives = stitch::contracts(stitch::contract("linear", STITCH_F32, {64, 10}));
      auto enqueue = [&](Tensors reads, Tensors writes, cudaStream_t on) {
        (void)reads, (void)writes;
        return enqueue_fc(stitch::data<const float>(reads[0]), program->fc_weight, program->fc_bias,
                          stitch::data<float>(writes[0]), on);
      };
      return stitch::run_region(program, takes, in, n_in, gives, out, n_out, stream, enqueue);
    }
    case 3: {  // softmax, by loop
      constexpr auto takes = stitch::contracts(stitch::contract("linear", STITCH_F32, {64, 10}));
      constexpr auto gives = stitch::contracts(stitch::contract("softmax", STITCH_F32, {64, 10}));
      auto enqueue = [&](Tensors reads, Tensors writes, cudaStream_t on) {
        (void)reads, (void)writes;
        return enqueue_softmax(stitch::data<const float>(reads[0]), stitch::data<float>(writes[0]),
                               program->softmax_threads, on);
      };
      return stitch::run_region(program, takes, in, n_in, gives, out, n_out, stream, enqueue);
    }
    default:
      return stitch::no_such_region(region, 4);
  }
}
// file: regions.h
// What program.cu calls, region by region. Shapes are the program's own: it is built for these.
#pragma once

#include <cstdint>

#include "stitch/runtime/errors.h"

StitchStatus enqueue_conv_relu(const float* x,            // (64, 3, 16, 16)
                               const float* conv_weight,  // (16, 3, 3, 3)
                               const float* conv_bias,    // (16)
                               float* conv_relu_out,      // (64, 16, 16, 16)
                               cudaStream_t stream);

StitchStatus enqueue_pool(const float* conv_relu_out,  // (64, 16, 16, 16)
                          float* pool_out,             // (64, 16, 8, 8)
                          int pool_threads,            // a block
                          cudaStream_t stream);

StitchStatus enqueue_fc(const float* pool_out,   // (64, 16, 8, 8)
                        const float* fc_weight,  // (10, 1024)
                        const float* fc_bias,    // (10)
                        float* fc_out,           // (64, 10)
                        cudaStream_t stream);

StitchStatus enqueue_softmax(const float* fc_out,  // (64, 10)
                             float* softmax_out,   // (64, 10)
                             int softmax_threads,  // a block
                             cudaStream_t stream);
// file: regions/conv_relu.cu
// conv_relu: conv (conv, relu)
//   small_net.py:14: x = F.relu(self.conv(x))
#include <cstdint>

#include "stitch/kernels/conv_direct.h"
#include "stitch/runtime/errors.h"

// conv_relu_out (64, 16, 16, 16) = x (64, 3, 16, 16) * conv_weight (16, 3, 3, 3), padding 1x1, then bias,
// relu
// Directly, on the CUDA cores; kernels/conv_direct.h has the kernel.
// conv_relu_out (64, 16, 16, 16) = x (64, 3, 16, 16) * conv_weight (16, 3, 3, 3), padding 1x1
struct ConvReluLayer {
  using In = float;
  using Weight = float;
  using Out = float;
  using Index = int;
  static constexpr int channels = 3, filters = 16;
  static constexpr int batch = 64, height = 16, width = 16, out_height = 16, out_width = 16;
  static constexpr int kernel_y = 3, kernel_x = 3, stride_y = 1, stride_x = 1;
  static constexpr int pad_y = 1, pad_x = 1, dilation_y = 1, dilation_x = 1;
  static constexpr int images = 4, tile_height = 16, tile_width = 16;  // of a block
  static constexpr int pixels = 4;  // of a thread
  static constexpr int out_pack = 1;
  __device__ static Index x(Index n, Index c, Index y, Index x) { return c * 256 + n * 768 + x + y * 16; }
  __device__ static Index out(Index n, Index c, Index y, Index x) { return c * 256 + n * 4096 + x + y * 16; }
};

struct ConvReluEpilogue {
  const float* conv_bias;  // (16)
  __device__ float operator()(float value, int, int channel, int) const {
    value += conv_bias[channel];
    return stitch::relu(value);
  }
};

StitchStatus enqueue_conv_relu(const float* x,            // (64, 3, 16, 16)
                               const float* conv_weight,  // (16, 3, 3, 3)
                               const float* conv_bias,    // (16)
                               float* conv_relu_out,      // (64, 16, 16, 16)
                               cudaStream_t stream) {
  return stitch::enqueue_conv_direct(
      "conv_relu", ConvReluLayer{}, x, conv_weight, conv_relu_out, ConvReluEpilogue{conv_bias}, stream);
}
// file: regions/fc.cu
// fc: fc (reshape, linear)
//   small_net.py:15: x = F.max_pool2d(x, 2).flatten(1)
//   small_net.py:16: return F.softmax(self.fc(x), 1)
#include <cstdint>

#include "stitch/kernels/matmul_vector.h"
#include "stitch/runtime/errors.h"

// fc_out (64, 10) = pool_out (64, 1024) · fc_weight (10, 1024), then bias
// The wide matrix is read once; kernels/matmul_vector.h has the kernel.
struct FcProduct {  // fc_out (64, 10) = pool_out (64, 1024) · fc_weight (10, 1024)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 64, columns = 10, depth = 1024;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 1024; }
  __device__ static Index right(Index, Index k, Index column) { return column * 1024 + k; }
  __device__ static Index out(Index, Index row, Index column) { return column + row * 10; }
  __device__ static Index position(Index, Index row, Index column) { return column + row * 10; }
};

struct FcEpilogue {
  const float* fc_bias;  // (10)
  __device__ float operator()(float value, int position) const {
    value += fc_bias[position % 10];
    return value;
  }
};

StitchStatus enqueue_fc(const float* pool_out,   // (64, 16, 8, 8)
                        const float* fc_weight,  // (10, 1024)
                        const float* fc_bias,    // (10)
                        float* fc_out,           // (64, 10)
                        cudaStream_t stream) {
  return stitch::enqueue_vector_product<false, 10, true, 2048, 1, 1, true>(
      "fc", FcProduct{}, pool_out, fc_weight, nullptr, fc_out, FcEpilogue{fc_bias}, stream);
}
// file: regions/pool.cu
// pool: max_pool
//   small_net.py:15: x = F.max_pool2d(x, 2).flatten(1)
#include <cstdint>

#include "stitch/loops/math.h"
#include "stitch/runtime/errors.h"
#include "stitch/runtime/launch.h"

// max_pool: each thread makes neighbouring elements of the results, and what is between is never stored. 1.31
// MB moved.
namespace {

__global__ void __launch_bounds__(256) pool(const float* __restrict__ conv_relu_out,  // (64, 16, 16, 16)
                                            float* __restrict__ pool_out) {           // (64, 16, 8, 8)
  stitch::wait_for_previous_kernel();
  const int element = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (element >= 65536) return;
  float pool = -INFINITY;
#pragma unroll
  for (int ky = 0; ky < 2; ++ky) {
#pragma unroll
    for (int kx = 0; kx < 2; ++kx) {
      const float relu = conv_relu_out[(element % 8) * 2 + (element / 8) * 32 + kx + ky * 16];
      pool = stitch::maximum(pool, relu);
    }
  }
  pool_out[element] = pool;
}

}  // namespace

StitchStatus enqueue_pool(const float* conv_relu_out,  // (64, 16, 16, 16)
                          float* pool_out,             // (64, 16, 8, 8)
                          int pool_threads,            // a block
                          cudaStream_t stream) {
  return stitch::launch("pool", pool, stitch::spread(65536, pool_threads), stream, conv_relu_out, pool_out);
}
// file: regions/softmax.cu
// softmax: softmax
//   small_net.py:16: return F.softmax(self.fc(x), 1)
#include <cstdint>

#include "stitch/loops/math.h"
#include "stitch/runtime/errors.h"
#include "stitch/runtime/launch.h"

// softmax: each thread makes neighbouring elements of the results, and what is between is never stored. 5.12
// kB moved.
namespace {

__global__ void __launch_bounds__(256) softmax(const float* __restrict__ fc_out,   // (64, 10)
                                               float* __restrict__ softmax_out) {  // (64, 10)
  stitch::wait_for_previous_kernel();
  const int element = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (element >= 640) return;
  float linear_held[10];
#pragma unroll
  for (int term = 0; term < 10; ++term) {
    linear_held[term] = fc_out[(element / 10) * 10 + term];
  }
  float linear_max = -INFINITY;
#pragma unroll
  for (int term_2 = 0; term_2 < 10; ++term_2) {
    linear_max = stitch::maximum(linear_max, linear_held[term_2]);
  }
  const float softmax_max = linear_max;
  float linear_exp_sum = 0.0f;
#pragma unroll
  for (int term_3 = 0; term_3 < 10; ++term_3) {
    linear_exp_sum += expf(linear_held[term_3] - softmax_max);
  }
  const float softmax_scale = 1.0f / linear_exp_sum;
  const float linear_2 = fc_out[element];
  softmax_out[element] = expf(linear_2 - softmax_max) * softmax_scale;
}

}  // namespace

StitchStatus enqueue_softmax(const float* fc_out,  // (64, 10)
                             float* softmax_out,   // (64, 10)
                             int softmax_threads,  // a block
                             cudaStream_t stream) {
  return stitch::launch("softmax", softmax, stitch::spread(640, softmax_threads), stream, fc_out,
                        softmax_out);
}
// file: settings.h
// Numbers that stitch_set may change before the program is created; manifest.cu has their values.
#pragma once

#include "stitch/runtime/settings.h"

namespace settings {
extern stitch::Setting pool_threads;
extern stitch::Setting softmax_threads;
extern stitch::Setting programmatic_launches;
}  // namespace settings
