// Additional streams for independent regions. fork lets them start at the caller's stream, join lets it wait
// for all of them; in a capture they are branches of the graph.
//   STITCH_OK_OR_RETURN(branches.fork(stream, 3));
//   STITCH_OK_OR_RETURN(enqueue_a(x, a, stream));
//   STITCH_OK_OR_RETURN(enqueue_b(x, b, branches[1]));
//   STITCH_OK_OR_RETURN(enqueue_c(x, c, branches[2]));
//   STITCH_OK_OR_RETURN(branches.join(stream, 3));
#pragma once

#include "stitch/runtime/errors.h"

namespace stitch {
template <int count>  // branches, including the caller's stream
class Branches {
 public:
  Branches() = default;
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;
  ~Branches() {
    for (cudaEvent_t event : done_)
      if (event) (void)cudaEventDestroy(event);
    for (cudaStream_t stream : streams_)
      if (stream) (void)cudaStreamDestroy(stream);
  }

  StitchStatus create() {
    for (cudaEvent_t& event : done_) STITCH_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 1; i < count; ++i)
      STITCH_CUDA(cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking));
    return STITCH_OK;
  }

  StitchStatus fork(cudaStream_t stream, int branches) {
    STITCH_CUDA(cudaEventRecord(done_[0], stream));
    for (int i = 1; i < branches; ++i) STITCH_CUDA(cudaStreamWaitEvent(streams_[i], done_[0], 0));
    return STITCH_OK;
  }

  StitchStatus join(cudaStream_t stream, int branches) {
    for (int i = 1; i < branches; ++i) {
      STITCH_CUDA(cudaEventRecord(done_[i], streams_[i]));
      STITCH_CUDA(cudaStreamWaitEvent(stream, done_[i], 0));
    }
    return STITCH_OK;
  }

  cudaStream_t operator[](int branch) const { return streams_[branch]; }

 private:
  cudaStream_t streams_[count] = {};  // the first is unused: the caller's stream
  cudaEvent_t done_[count] = {};
};

}  // namespace stitch
