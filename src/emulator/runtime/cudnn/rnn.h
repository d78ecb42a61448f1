// Recurrent networks: the contents of descriptors, and the layout of weights.
#pragma once

#include "cudnn/descriptors.h"

struct cudnnRNNStruct {
  cudnnRNNMode_t cell = CUDNN_RNN_RELU;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int64_t input = 0, hidden = 0, layers = 0;
  int directions = 1;
  bool padded = false;
  float dropout = 0;

  int64_t gates() const { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }
  int64_t layer_input(int64_t layer) const { return layer ? hidden * directions : input; }
};
struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int64_t longest = 0, batch = 0, vector = 0;
  std::vector<int> lengths;
  bool fills = false;
  double fill = 0;

  // Offset of the vector at (time, sequence).
  int64_t offset(int64_t time, int64_t sequence) const;
  int64_t elements() const;
};

namespace stitch_emulated {

// Offset in elements from the start of the weights; negative if there is none. All matrices come first, then
// the biases.
int64_t matrix_place(const cudnnRNNStruct& rnn, int64_t pseudo_layer, int64_t gate);
int64_t bias_place(const cudnnRNNStruct& rnn, int64_t pseudo_layer, int64_t gate);
int64_t weight_count(const cudnnRNNStruct& rnn);

struct RnnCall {
  cudnnRNNStruct rnn;
  cudnnRNNDataStruct x_desc, y_desc;
  Element element;
  const void *x, *weights, *hx, *cx;
  void *y, *hy, *cy;
};
void run_rnn(const RnnCall& call);

}  // namespace stitch_emulated
