// thread order: missing_dependency | passed on cuda | correctness: wrong on cuda | not_finite on cuda — a race that a GPU may win; racecheck sees it (--sanitizer)
#include "row_center.h"
#include "stitch/runtime/branches.h"
#include "stitch/runtime/graph.h"

static __device__ float sums[rows];

static __global__ void add_rows(const float* x) {
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[blockIdx.x * columns + i];
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

static __global__ void center(const float* x, const float* weight, float* y) {
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - sums[blockIdx.x] / columns) * weight[threadIdx.x];
}

// The branch starts before the sums are there, and nothing makes it wait for them.
static StitchStatus enqueue(stitch::Branches<2>& branches, const float* x, const float* weight, float* y,
                            cudaStream_t stream) {
  STITCH_OK_OR_RETURN(branches.fork(stream, 2));
  add_rows<<<rows, 32, 0, stream>>>(x);
  center<<<rows, columns, 0, branches[1]>>>(x, weight, y);
  return branches.join(stream, 2);
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static stitch::Branches<2> branches;
  static stitch::GraphCache graphs;
  static const int created = branches.create() | graphs.create();
  if (created != STITCH_OK) return STITCH_DEVICE_ERROR;
  StitchTensor in[1] = {}, out[1] = {};
  in[0].data = const_cast<float*>(x);
  out[0].data = y;
  return graphs.run(in, 1, out, 1, stream,
                    [&](cudaStream_t on) { return enqueue(branches, x, weight, y, on); });
}
