// silu(x * scale + shift) + residual: one kernel, so no CUDA graph and no memory but the weights'.
#include "regions.h"
#include "stitch/runtime/arena.h"
#include "stitch/runtime/exports.h"

namespace {

constexpr auto parameters = stitch::contracts(stitch::contract("scale", STITCH_F32, {channels, 1}),
                                              stitch::contract("shift", STITCH_F32, {channels, 1}));
constexpr auto inputs =
    stitch::contracts(stitch::contract("x", STITCH_F32, {batch, channels, length}),
                      stitch::contract("residual", STITCH_F32, {batch, channels, length}));
constexpr auto outputs = stitch::contracts(stitch::contract("add_1", STITCH_F32, {batch, channels, length}));

}  // namespace

struct StitchProgram {
  int device = 0;
  stitch::Arena weights;
  float *scale = nullptr, *shift = nullptr;  // (33)

  StitchStatus create(const StitchTensor* params) {
    constexpr size_t bytes = stitch::arena_size(channels * sizeof(float));
    STITCH_OK_OR_RETURN(weights.allocate(2 * bytes));
    STITCH_OK_OR_RETURN(weights.place("scale", 0, channels, &scale));
    STITCH_OK_OR_RETURN(weights.place("shift", bytes, channels, &shift));
    STITCH_OK_OR_RETURN(stitch::copy_weight(scale, params[0], channels));
    return stitch::copy_weight(shift, params[1], channels);
  }

  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t stream) {
    return enqueue_gated_residual(stitch::data<const float>(in[0]), stitch::data<const float>(in[1]), scale,
                                  shift, stitch::data<float>(out[0]), stream);
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
