// graph "golden"
// input %x : f32[16,8,64]
// input %h0 : f32[1,8,128]
// parameter %weight_ih : f32[384,64]
// parameter %weight_hh : f32[384,128]
// parameter %bias_ih : f32[384]
// parameter %bias_hh : f32[384]
// %y, %hn = rnn(%x, %h0, none, %weight_ih, %weight_hh, %bias_ih, %bias_hh) kind="gru" layers=1 bidirectional=false batch_first=false biases=true projection=0 : f32[16,8,128], f32[1,8,128]
// output %y
// end

#include "stitch/kernels/recurrence_persistent.h"

// gru, 1 layer: 16 steps of 8 samples, 64 features in, 128 hidden
// Weights stay in registers for all steps; blocks pass the state on through L2.
struct GoldenSizes {
  static constexpr auto kind = stitch::RecurrenceKind::gru;
  static constexpr int steps = 16, batch = 8, input = 64, hidden = 128, layers = 1, directions = 1;
  // A block computes 6 of 128 units for 4 samples; 16 lanes share a unit's sums, 1 unit a lane.
  static constexpr int layers_at_once = 1, samples = 4, units = 6, units_each = 1, slices = 16;
  static constexpr int state_warps = 4, input_warps = 1;  // that fetch
};

StitchStatus enqueue_golden(const float* x,          // (16, 8, 64)
                            const float* h0,         // (1, 8, 128)
                            const float* weight_ih,  // (384, 64)
                            const float* weight_hh,  // (384, 128)
                            const float* bias_ih,    // (384)
                            const float* bias_hh,    // (384)
                            float* y,                // (16, 8, 128)
                            void* workspace,
                            cudaStream_t stream) {
  stitch::PersistentRecurrence<GoldenSizes, 1> r{};
  r.weights[0] = {weight_ih, weight_hh, bias_ih, bias_hh};
  r.x = x;
  r.h0 = h0;
  r.exchange = static_cast<float*>(workspace);
  r.y = y;
  r.y_step = 1024, r.y_sample = 128;
  r.x_step = 512, r.x_sample = 64, r.x_feature = 1;
  r.sizes = GoldenSizes{};
  return stitch::enqueue_persistent_recurrence(r, stream);
}

// When the program is created:
stitch::ResidentBlocks golden_blocks;
STITCH_OK_OR_RETURN(golden_blocks.create(44));
