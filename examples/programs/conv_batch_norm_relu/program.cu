// Convolution, BatchNorm with the batch's statistics, ReLU: two kernels, replayed as one CUDA graph.
#include "regions.h"
#include "stitch/runtime/arena.h"
#include "stitch/runtime/exports.h"
#include "stitch/runtime/graph.h"

namespace {

constexpr int taps = 9;
constexpr size_t conv_weight_count = size_t{channels_out} * channels_in * taps;
constexpr size_t conv2d_count = size_t{batch} * channels_out * pixels;

constexpr auto parameters =
    stitch::contracts(stitch::contract("conv.weight", STITCH_F32, {channels_out, channels_in, 3, 3}),
                      stitch::contract("conv.bias", STITCH_F32, {channels_out}),
                      stitch::contract("norm.weight", STITCH_F32, {channels_out}),
                      stitch::contract("norm.bias", STITCH_F32, {channels_out}));
constexpr auto x = stitch::contract("x", STITCH_F32, {batch, channels_in, height, width});
constexpr auto conv2d_value = stitch::contract("conv2d", STITCH_F32, {batch, channels_out, height, width});
constexpr auto mean_before = stitch::contract("norm.running_mean", STITCH_F32, {channels_out});
constexpr auto variance_before = stitch::contract("norm.running_var", STITCH_F32, {channels_out});
constexpr auto batches_before = stitch::contract("norm.num_batches_tracked", STITCH_I64);

constexpr auto inputs = stitch::contracts(x, mean_before, variance_before, batches_before);
constexpr auto outputs =
    stitch::contracts(stitch::contract("relu", STITCH_F32, {batch, channels_out, height, width}),
                      stitch::contract("batch_norm.batch_norm.1", STITCH_F32, {channels_out}),
                      stitch::contract("batch_norm.batch_norm.2", STITCH_F32, {channels_out}),
                      stitch::contract("add", STITCH_I64));

// Packed weights, then what lives between the kernels: byte offsets in the arena.
constexpr size_t vector_bytes = stitch::arena_size(channels_out * sizeof(float));
constexpr size_t conv_weight_at = 0;
constexpr size_t conv_bias_at = conv_weight_at + stitch::arena_size(conv_weight_count * sizeof(float));
constexpr size_t norm_weight_at = conv_bias_at + vector_bytes;
constexpr size_t norm_bias_at = norm_weight_at + vector_bytes;
constexpr size_t conv2d_at = norm_bias_at + vector_bytes;
constexpr size_t arena_bytes = conv2d_at + stitch::arena_size(conv2d_count * sizeof(float));

}  // namespace

struct StitchProgram {
  int device = 0;
  stitch::Arena arena;
  stitch::GraphCache graphs;
  float* conv_weight = nullptr;                                              // (10, 8, 3, 3)
  float *conv_bias = nullptr, *norm_weight = nullptr, *norm_bias = nullptr;  // (10)
  float* conv2d = nullptr;                                                   // (4, 10, 17, 15)

  StitchStatus create(const StitchTensor* params) {
    STITCH_OK_OR_RETURN(graphs.create());
    STITCH_OK_OR_RETURN(arena.allocate(arena_bytes));
    STITCH_OK_OR_RETURN(arena.place("conv.weight", conv_weight_at, conv_weight_count, &conv_weight));
    STITCH_OK_OR_RETURN(arena.place("conv.bias", conv_bias_at, channels_out, &conv_bias));
    STITCH_OK_OR_RETURN(arena.place("norm.weight", norm_weight_at, channels_out, &norm_weight));
    STITCH_OK_OR_RETURN(arena.place("norm.bias", norm_bias_at, channels_out, &norm_bias));
    STITCH_OK_OR_RETURN(arena.place("conv2d", conv2d_at, conv2d_count, &conv2d));
    STITCH_OK_OR_RETURN(stitch::copy_weight(conv_weight, params[0], conv_weight_count));
    STITCH_OK_OR_RETURN(stitch::copy_weight(conv_bias, params[1], channels_out));
    STITCH_OK_OR_RETURN(stitch::copy_weight(norm_weight, params[2], channels_out));
    return stitch::copy_weight(norm_bias, params[3], channels_out);
  }

  StitchStatus run_conv(const StitchTensor& input, float* result, cudaStream_t stream) {
    return enqueue_conv(stitch::data<const float>(input), conv_weight, conv_bias, result, stream);
  }

  // `states` are the running mean, the running variance and the count of batches; `out` is relu and their
  // updates.
  StitchStatus run_batch_norm_relu(const float* values, const StitchTensor* states, const StitchTensor* out,
                                   cudaStream_t stream) {
    return enqueue_batch_norm_relu(values, norm_weight, norm_bias, stitch::data<const float>(states[0]),
                                   stitch::data<const float>(states[1]),
                                   stitch::data<const int64_t>(states[2]), stitch::data<float>(out[0]),
                                   stitch::data<float>(out[1]), stitch::data<float>(out[2]),
                                   stitch::data<int64_t>(out[3]), stream);
  }

  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t caller) {
    return graphs.run(in, inputs.size(), out, outputs.size(), caller,
                      [&](cudaStream_t stream) -> StitchStatus {
                        STITCH_OK_OR_RETURN(run_conv(in[0], conv2d, stream));
                        return run_batch_norm_relu(conv2d, in + 1, out, stream);
                      });
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

int stitch_run_region(StitchProgram* program, int region, const StitchTensor* in, int n_in, StitchTensor* out,
                      int n_out, void* stream) {
  using Tensors = const StitchTensor*;
  switch (region) {
    case 0:
      return stitch::run_region(program, stitch::contracts(x), in, n_in, stitch::contracts(conv2d_value), out,
                                n_out, stream, [&](Tensors reads, Tensors writes, cudaStream_t on) {
                                  return program->run_conv(reads[0], stitch::data<float>(writes[0]), on);
                                });
    case 1:
      return stitch::run_region(
          program, stitch::contracts(conv2d_value, mean_before, variance_before, batches_before), in, n_in,
          outputs, out, n_out, stream, [&](Tensors reads, Tensors writes, cudaStream_t on) {
            return program->run_batch_norm_relu(stitch::data<const float>(reads[0]), reads + 1, writes, on);
          });
    default: return stitch::no_such_region(region, 2);
  }
}
