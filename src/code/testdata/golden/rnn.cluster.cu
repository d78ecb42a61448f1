// graph "golden"
// input %x : f32[16,8,64]
// input %h0 : f32[2,8,128]
// parameter %weight_ih : f32[384,64]
// parameter %weight_hh : f32[384,128]
// parameter %bias_ih : f32[384]
// parameter %bias_hh : f32[384]
// parameter %weight_ih_reverse : f32[384,64]
// parameter %weight_hh_reverse : f32[384,128]
// parameter %bias_ih_reverse : f32[384]
// parameter %bias_hh_reverse : f32[384]
// %y, %hn = rnn(%x, %h0, none, %weight_ih, %weight_hh, %bias_ih, %bias_hh, %weight_ih_reverse, %weight_hh_reverse, %bias_ih_reverse, %bias_hh_reverse) kind="gru" layers=1 bidirectional=true batch_first=false biases=true projection=0 : f32[16,8,256], f32[2,8,128]
// output %y
// end

#include "stitch/kernels/recurrence_cluster.h"

// gru, 1 layer in both directions: 16 steps of 8 samples, 64 features in, 128 hidden
// Weights stay in registers for all steps of a layer; blocks of a cluster pass the state on through
// each other's shared memory.
struct GoldenSizes {
  static constexpr auto kind = stitch::RecurrenceKind::gru;
  static constexpr int steps = 16, batch = 8, input = 64, hidden = 128, layers = 1, directions = 2;
  static constexpr int rows = 128;  // steps · batch
  static constexpr int64_t x_step = 512, x_sample = 64, x_feature = 1;  // strides
  static constexpr bool x_quads = true;
  // Clusters of 8 blocks, each for 2 samples of a layer.
  static constexpr int layers_at_once = 1, cluster = 8, samples = 2;
};

StitchStatus enqueue_golden(const float* x,                  // (16, 8, 64)
                            const float* h0,                 // (2, 8, 128)
                            const float* weight_ih,          // (384, 64)
                            const float* weight_hh,          // (384, 128)
                            const float* bias_ih,            // (384)
                            const float* bias_hh,            // (384)
                            const float* weight_ih_reverse,  // (384, 64)
                            const float* weight_hh_reverse,  // (384, 128)
                            const float* bias_ih_reverse,    // (384)
                            const float* bias_hh_reverse,    // (384)
                            float* y,                        // (16, 8, 256)
                            void* workspace,
                            cudaStream_t stream) {
  stitch::ClusterRecurrence<GoldenSizes, 2> r{};
  r.weights[0] = {weight_ih, weight_hh, bias_ih, bias_hh};
  r.weights[1] = {weight_ih_reverse, weight_hh_reverse, bias_ih_reverse, bias_hh_reverse};
  r.x = x;
  r.h0 = h0;
  r.workspace = static_cast<float*>(workspace);
  r.y = y;
  r.y_step = 2048, r.y_sample = 256;
  r.sizes = GoldenSizes{};
  return stitch::enqueue_cluster_recurrence(r, stream);
}

// When the program is created:
stitch::ClusterBlocks golden_clusters;
STITCH_OK_OR_RETURN(golden_clusters.create());
