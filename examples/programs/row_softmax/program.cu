// Softmax over the rows of a matrix: one kernel, so no CUDA graph and no memory of its own.
#include "regions.h"
#include "stitch/runtime/exports.h"

namespace {

constexpr auto parameters = stitch::contracts();
constexpr auto inputs = stitch::contracts(stitch::contract("x", STITCH_F32, {rows, columns}));
constexpr auto outputs = stitch::contracts(stitch::contract("softmax", STITCH_F32, {rows, columns}));

}  // namespace

struct StitchProgram {
  int device = 0;

  StitchStatus create(const StitchTensor*) { return STITCH_OK; }

  StitchStatus run(const StitchTensor* in, const StitchTensor* out, cudaStream_t stream) {
    return enqueue_row_softmax(stitch::data<const float>(in[0]), stitch::data<float>(out[0]), stream);
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
