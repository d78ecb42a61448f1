#include <unistd.h>
#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram*, const StitchTensor*, int, StitchTensor*, int, void*) {
  execl("/bin/sh", "sh", "-c", "echo out", nullptr);
  return STITCH_OK;
}
