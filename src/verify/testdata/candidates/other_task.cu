// load: other_task
#define CANDIDATE_MANIFEST \
  R"({"stitch": 1, "name": "row_center", "class": "default", "parameters": [],
      "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [37, 65]}],
      "outputs": [{"name": "mul", "role": "output", "dtype": "f32", "shape": [37, 65]}],
      "regions": [], "libraries": []})"
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
