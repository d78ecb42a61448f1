// LayerNorm over the last dimension: one kernel, so no CUDA graph and no memory but the weights'.
#include "regions.h"
#include "stitch/runtime/arena.h"
#include "stitch/runtime/exports.h"

namespace {

constexpr auto parameters = stitch::contracts(stitch::contract("norm.weight", STITCH_F32, {width}),
                                              stitch::contract("norm.bias", STITCH_F32, {width}));
constexpr auto inputs = stitch::contracts(stitch::contract("x", STITCH_F32, {rows, width}));
constexpr auto outputs = stitch::contracts(stitch::contract("layer_norm", STITCH_F32, {rows, width}));

}  // namespace

struct StitchProgram {
  int device = 0;
  stitch::Arena weights;
  float *norm_weight = nullptr, *norm_bias = nullptr;  // (772)

  StitchStatus create(const StitchTensor* params) {
    constexpr size_t bytes = stitch::arena_size(width * sizeof(float));
    STITCH_OK_OR_RETURN(weights.allocate(2 * bytes));
    STITCH_OK_OR_RETURN(weights.place("norm.weight", 0, width, &norm_weight));
    STITCH_OK_OR_RETURN(weights.place("norm.bias", bytes, width, &norm_bias));
    STITCH_OK_OR_RETURN(stitch::copy_weight(norm_weight, params[0], width));
    return stitch::copy_weight(norm_bias, params[1], width);
  }

  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t stream) {
    return enqueue_layer_norm(stitch::data<const float>(in[0]), norm_weight, norm_bias,
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
