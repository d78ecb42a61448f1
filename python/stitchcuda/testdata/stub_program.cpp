// A program's library whose work is done by whoever set the callbacks: tests of the Python side need no compiler
// for the emulated GPU, only this one.
#include <string>

#include "stitch/program.h"

using OnCreate = int (*)(int program, const StitchTensor* params, int count);
using OnRun = int (*)(int program, const StitchTensor* in, int n_in, StitchTensor* out, int n_out);

namespace {
OnCreate on_create = nullptr;
OnRun on_run = nullptr;
int programs = 0, alive = 0;
}  // namespace

struct StitchProgram {
  int number;
};

extern "C" {
STITCH_EXPORT void stub_set(OnCreate create, OnRun run) {
  on_create = create;
  on_run = run;
}
STITCH_EXPORT int stub_alive() { return alive; }

int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  *out = new StitchProgram{++programs};
  ++alive;
  return on_create ? on_create(programs, params, count) : 0;
}
int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in, StitchTensor* out, int n_out, void*) {
  return on_run ? on_run(program->number, in, n_in, out, n_out) : 0;
}
void stitch_destroy(StitchProgram* program) {
  --alive;
  delete program;
}
const char* stitch_manifest() { return "{}"; }
const char* stitch_last_error() { return "the stub failed"; }
}
