// graph "golden"
// input %x : f32[5,3,7]
// input %h0 : f32[1,3,6]
// parameter %weight_ih : f32[18,7]
// parameter %weight_hh : f32[18,6]
// parameter %bias_ih : f32[18]
// parameter %bias_hh : f32[18]
// %y, %hn = rnn(%x, %h0, none, %weight_ih, %weight_hh, %bias_ih, %bias_hh) kind="gru" layers=1 bidirectional=false batch_first=false biases=true projection=0 : f32[5,3,6], f32[1,3,6]
// output %y
// end

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/recurrence.h"

// gru, 1 layer: 5 steps of 3 samples, 7 features in, 6 hidden
// The input's share of the gates in one product a layer and direction, then a kernel a step.
struct GoldenInput {  // gates (5, 3, 18) = x (5, 3, 7) · weight_ih (18, 7)
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  using Index = int;
  static constexpr Index batches = 1, rows = 15, columns = 18, depth = 7;
  static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = false;
  __device__ static Index left(Index, Index row, Index k) { return k + row * 7; }
  __device__ static Index right(Index, Index k, Index column) { return column * 7 + k; }
  __device__ static Index out(Index, Index row, Index column) { return column + row * 18; }
  __device__ static Index position(Index, Index row, Index column) { return column + row * 18; }
};

struct GoldenBias {
  const float* bias;  // (18)
  template <class Index>
  __device__ float operator()(float value, Index position) const { return value + bias[position % 18]; }
};

StitchStatus enqueue_golden(const float* x,          // (5, 3, 7)
                            const float* h0,         // (1, 3, 6)
                            const float* weight_ih,  // (18, 7)
                            const float* weight_hh,  // (18, 6)
                            const float* bias_ih,    // (18)
                            const float* bias_hh,    // (18)
                            float* y,                // (5, 3, 6)
                            void* workspace,
                            cudaStream_t stream) {
  auto* gates = reinterpret_cast<float*>(static_cast<char*>(workspace) + 0);  // (5, 3, 3, 6)
  STITCH_OK_OR_RETURN(stitch::enqueue_product<1>(
      "golden_input", GoldenInput{}, x, weight_ih, gates, GoldenBias{bias_ih}, stream));
  for (int i = 0; i < 5; ++i) {
    int step = i;
    stitch::RecurrenceStep<float> s{3, 6, 6};  // batch, hidden, output
    s.from_input = gates + step * int64_t{54};
    s.weight = weight_hh;
    s.bias = bias_hh;
    s.state = i == 0 ? h0 : y + (step - 1) * int64_t{18};
    s.state_stride = i == 0 ? 6 : 6;
    s.result = y + step * int64_t{18};
    s.result_stride = 6;
    STITCH_OK_OR_RETURN(stitch::enqueue_recurrence_step<stitch::RecurrenceKind::gru>(s, stream));
  }
  return STITCH_OK;
}
