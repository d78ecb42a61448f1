#include <cstdlib>
#include <cstring>
#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram*, const StitchTensor*, int, StitchTensor*, int, void*) {
  for (;;)
    if (void* memory = malloc(16 << 20)) memset(memory, 1, 16 << 20);
}
