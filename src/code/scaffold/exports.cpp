// The C ABI over the program's struct.
#include "code/scaffold/sections.h"

namespace stitch::code {

std::string exports_section() {
  return R"(int stitch_create(const StitchTensor* params, int count, int device, StitchProgram** out) {
  return stitch::create_program(parameters, params, count, device, out);
}
int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in, StitchTensor* out, int n_out,
               void* stream) {
  return stitch::run_program(program, inputs, in, n_in, outputs, out, n_out, stream);
}
void stitch_destroy(StitchProgram* program) { stitch::destroy_program(program); }
const char* stitch_last_error(void) { return stitch::last_error(); }

)";
}

}  // namespace stitch::code
