// passed
// Right as it ships; with other values of its setting it misbehaves, each in its own way.
#define CANDIDATE_WITHOUT_CREATE
#define CANDIDATE_MANIFEST moody_manifest
static const char* const moody_manifest = R"({"stitch": 1, "name": "row_center", "class": "default",
    "parameters": [{"name": "weight", "role": "parameter", "dtype": "f32", "shape": [65], "data": "weight"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [37, 65]}],
    "outputs": [{"name": "mul", "role": "output", "dtype": "f32", "shape": [37, 65]}],
    "regions": [], "libraries": [], "settings": [{"name": "mood", "values": [0, 1, 2, 3, 4, 5], "value": 0}]})";
#include "row_center.h"

enum Mood { good, refusing, wrong, crashing, hanging, late };
static int mood = good, runs = 0;

extern "C" STITCH_EXPORT int stitch_set(const char* name, int64_t value) {
  if (std::strcmp(name, "mood") != 0 || value < good || value > late) return STITCH_BAD_ARGUMENT;
  mood = static_cast<int>(value);
  runs = 0;
  return STITCH_OK;
}

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  last_error = "not in the mood";
  if (count != 1 || mood == refusing) return STITCH_UNSUPPORTED;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  return STITCH_OK;
}

static __global__ void nudge(float* y) { y[elements / 2] += 1e-2f; }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  volatile int* nowhere = nullptr;
  if (mood == crashing) *nowhere = 1;
  // Once it was judged.
  while (mood == hanging || (mood == late && ++runs > 2)) runs = 3;
  int status = honest(x, weight, y, stream);
  if (mood == wrong) nudge<<<1, 1, 0, stream>>>(y);
  return status;
}
