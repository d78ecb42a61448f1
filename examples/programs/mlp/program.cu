// Two linear layers with a ReLU between them: two cuBLASLt products with bias and ReLU in their epilogues,
// replayed as one CUDA graph. 18.4 MFLOP, 0.9 MB moved.
#include "stitch/runtime/arena.h"
#include "stitch/runtime/cublaslt.h"
#include "stitch/runtime/exports.h"
#include "stitch/runtime/graph.h"

namespace {

constexpr int batch = 60, inputs_of_fc1 = 256, hidden = 500, outputs_of_fc2 = 100;

constexpr auto parameters =
    stitch::contracts(stitch::contract("fc1.weight", STITCH_F32, {hidden, inputs_of_fc1}),
                      stitch::contract("fc1.bias", STITCH_F32, {hidden}),
                      stitch::contract("fc2.weight", STITCH_F32, {outputs_of_fc2, hidden}),
                      stitch::contract("fc2.bias", STITCH_F32, {outputs_of_fc2}));
constexpr auto inputs = stitch::contracts(stitch::contract("x", STITCH_F32, {batch, inputs_of_fc1}));
constexpr auto hidden_value = stitch::contracts(stitch::contract("relu", STITCH_F32, {batch, hidden}));
constexpr auto outputs = stitch::contracts(stitch::contract("linear_1", STITCH_F32, {batch, outputs_of_fc2}));

// Weights, then what lives between the products: byte offsets in the arena.
constexpr size_t floats(size_t count) { return stitch::arena_size(count * sizeof(float)); }
constexpr size_t fc1_weight_at = 0;
constexpr size_t fc1_bias_at = fc1_weight_at + floats(hidden * inputs_of_fc1);
constexpr size_t fc2_weight_at = fc1_bias_at + floats(hidden);
constexpr size_t fc2_bias_at = fc2_weight_at + floats(outputs_of_fc2 * hidden);
constexpr size_t relu_at = fc2_bias_at + floats(outputs_of_fc2);
constexpr size_t arena_bytes = relu_at + floats(batch * hidden);

}  // namespace

struct StitchProgram {
  int device = 0;
  stitch::Arena arena;
  stitch::CublasLt cublas;
  stitch::Matmul fc1, fc2;
  stitch::GraphCache graphs;
  float *fc1_weight = nullptr, *fc1_bias = nullptr;  // (500, 256), (500)
  float *fc2_weight = nullptr, *fc2_bias = nullptr;  // (100, 500), (100)
  float* relu = nullptr;                             // (60, 500)

  StitchStatus create(const StitchTensor* params) {
    STITCH_OK_OR_RETURN(arena.allocate(arena_bytes));
    STITCH_OK_OR_RETURN(arena.place("fc1.weight", fc1_weight_at, hidden * inputs_of_fc1, &fc1_weight));
    STITCH_OK_OR_RETURN(arena.place("fc1.bias", fc1_bias_at, hidden, &fc1_bias));
    STITCH_OK_OR_RETURN(arena.place("fc2.weight", fc2_weight_at, outputs_of_fc2 * hidden, &fc2_weight));
    STITCH_OK_OR_RETURN(arena.place("fc2.bias", fc2_bias_at, outputs_of_fc2, &fc2_bias));
    STITCH_OK_OR_RETURN(arena.place("relu", relu_at, batch * hidden, &relu));
    STITCH_OK_OR_RETURN(stitch::copy_weight(fc1_weight, params[0], hidden * inputs_of_fc1));
    STITCH_OK_OR_RETURN(stitch::copy_weight(fc1_bias, params[1], hidden));
    STITCH_OK_OR_RETURN(stitch::copy_weight(fc2_weight, params[2], outputs_of_fc2 * hidden));
    STITCH_OK_OR_RETURN(stitch::copy_weight(fc2_bias, params[3], outputs_of_fc2));

    STITCH_OK_OR_RETURN(graphs.create());
    STITCH_OK_OR_RETURN(cublas.create());
    stitch::MatmulSpec first{batch, hidden, inputs_of_fc1};
    first.right_transposed = true;
    first.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    first.bias = fc1_bias;
    STITCH_OK_OR_RETURN(fc1.create(cublas, first));
    stitch::MatmulSpec second{batch, outputs_of_fc2, hidden};
    second.right_transposed = true;
    second.epilogue = CUBLASLT_EPILOGUE_BIAS;
    second.bias = fc2_bias;
    return fc2.create(cublas, second);
  }

  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t caller) {
    return graphs.run(in, inputs.size(), out, outputs.size(), caller,
                      [&](cudaStream_t stream) -> StitchStatus {
                        STITCH_OK_OR_RETURN(fc1.enqueue(in[0].data, fc1_weight, relu, stream));
                        return fc2.enqueue(relu, fc2_weight, out[0].data, stream);
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
      return stitch::run_region(program, inputs, in, n_in, hidden_value, out, n_out, stream,
                                [&](Tensors reads, Tensors writes, cudaStream_t on) {
                                  return program->fc1.enqueue(reads[0].data, program->fc1_weight,
                                                              writes[0].data, on);
                                });
    case 1:
      return stitch::run_region(program, hidden_value, in, n_in, outputs, out, n_out, stream,
                                [&](Tensors reads, Tensors writes, cudaStream_t on) {
                                  return program->fc2.enqueue(reads[0].data, program->fc2_weight,
                                                              writes[0].data, on);
                                });
    default: return stitch::no_such_region(region, 2);
  }
}
