// A linear layer and a GELU: one kernel, so no CUDA graph. The weight is packed at create.
#include "regions.h"
#include "stitch/runtime/arena.h"
#include "stitch/runtime/exports.h"

namespace {

constexpr auto parameters =
    stitch::contracts(stitch::contract("linear.weight", STITCH_F32, {outputs_of_layer, inputs_of_layer}),
                      stitch::contract("linear.bias", STITCH_F32, {outputs_of_layer}));
constexpr auto inputs = stitch::contracts(stitch::contract("x", STITCH_F32, {batch, inputs_of_layer}));
constexpr auto outputs = stitch::contracts(stitch::contract("gelu", STITCH_F32, {batch, outputs_of_layer}));

}  // namespace

struct StitchProgram {
  int device = 0;
  stitch::Arena weights;
  float* linear_weight = nullptr;  // (260, 180): transposed
  float* linear_bias = nullptr;    // (180)

  StitchStatus create(const StitchTensor* params) {
    constexpr size_t weight_count = size_t{inputs_of_layer} * outputs_of_layer;
    constexpr size_t bias_offset = stitch::arena_size(weight_count * sizeof(float));
    STITCH_OK_OR_RETURN(weights.allocate(bias_offset + outputs_of_layer * sizeof(float)));
    STITCH_OK_OR_RETURN(weights.place("linear.weight", 0, weight_count, &linear_weight));
    STITCH_OK_OR_RETURN(weights.place("linear.bias", bias_offset, outputs_of_layer, &linear_bias));
    STITCH_OK_OR_RETURN(pack_weight(stitch::data<const float>(params[0]), linear_weight, nullptr));
    return stitch::copy_weight(linear_bias, params[1], outputs_of_layer);
  }

  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t stream) {
    return enqueue_linear_gelu(stitch::data<const float>(in[0]), linear_weight, linear_bias,
                               stitch::data<float>(out[0]), stream);
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
  if (region != 0) return stitch::no_such_region(region, 1);
  // The one region is the whole program.
  return stitch_run(program, in, n_in, out, n_out, stream);
}
