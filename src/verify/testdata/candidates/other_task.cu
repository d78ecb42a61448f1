// load: other_task
static const char* const without_weights = R"({"stitch": 1, "name": "row_center", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [37, 65]}],
    "outputs": [{"name": "mul", "role": "output", "dtype": "f32", "shape": [37, 65]}],
    "regions": [], "libraries": []})";
#define CANDIDATE_MANIFEST without_weights
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
