// Recurrent networks against their equations in double.
#include "emulator/test_cudnn.h"

namespace stitch::emulated {
namespace {

struct Case {
  cudnnRNNMode_t cell = CUDNN_LSTM;
  int steps = 5, batch = 3, input = 4, hidden = 6, layers = 1, directions = 1;
  std::vector<int> lengths = {};
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  Type type = Type::f32;
  bool states = true;
  cudnnForwardMode_t mode = CUDNN_FWD_MODE_INFERENCE;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Rnn : public Cudnn {
 protected:
  void check(const Case& c, bool captured = false);
};

void Rnn::check(const Case& c, bool captured) {
  std::vector<int> lengths = c.lengths.empty() ? std::vector<int>(c.batch, c.steps) : c.lengths;
  const int gates = c.cell == CUDNN_LSTM ? 4 : c.cell == CUDNN_GRU ? 3 : 1;
  const bool packed = c.layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  cudnnDropoutDescriptor_t dropout;
  cudnnCreateDropoutDescriptor(&dropout);
  ASSERT_EQ(cudnnSetDropoutDescriptor(dropout, handle, 0, nullptr, 0, 0), CUDNN_STATUS_SUCCESS);
  cudnnRNNDescriptor_t rnn;
  cudnnCreateRNNDescriptor(&rnn);
  const cudnnDataType_t type = cudnn_type(c.type);
  ASSERT_EQ(cudnnSetRNNDescriptor_v8(
                rnn, CUDNN_RNN_ALGO_STANDARD, c.cell, c.bias,
                c.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, type,
                c.type == Type::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT,
                c.type == Type::f32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH, c.input, c.hidden, c.hidden,
                c.layers, dropout, packed ? CUDNN_RNN_PADDED_IO_DISABLED : CUDNN_RNN_PADDED_IO_ENABLED),
            CUDNN_STATUS_SUCCESS);
  cudnnRNNDataDescriptor_t xd, yd;
  cudnnCreateRNNDataDescriptor(&xd);
  cudnnCreateRNNDataDescriptor(&yd);
  double fill = 0;
  const int wide = c.hidden * c.directions;
  ASSERT_EQ(cudnnSetRNNDataDescriptor(xd, type, c.layout, c.steps, c.batch, c.input, lengths.data(), &fill),
            CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnSetRNNDataDescriptor(yd, type, c.layout, c.steps, c.batch, wide, lengths.data(), &fill),
            CUDNN_STATUS_SUCCESS);
  auto place = [&](int time, int sequence) -> size_t {
    if (c.layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED) return time * c.batch + sequence;
    if (c.layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED) return sequence * c.steps + time;
    size_t before = 0;
    for (int length : lengths) before += std::min(length, time);
    return before + sequence;
  };
  size_t rows = static_cast<size_t>(c.steps) * c.batch;
  if (packed) {
    rows = 0;
    for (int length : lengths) rows += length;
  }
  const size_t states = static_cast<size_t>(c.layers) * c.directions * c.batch * c.hidden;
  Numbers x = Numbers::random(c.type, rows * c.input, 1), y = Numbers::random(c.type, rows * wide, 2),
          hx = Numbers::random(c.type, states, 3), cx = Numbers::random(c.type, states, 4),
          hy(c.type, states), cy(c.type, states);
  size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  ASSERT_EQ(cudnnGetRNNWeightSpaceSize(handle, rnn, &weight_bytes), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnGetRNNTempSpaceSizes(handle, rnn, c.mode, xd, &work_bytes, &reserve_bytes),
            CUDNN_STATUS_SUCCESS);
  Numbers weights = Numbers::random(c.type, weight_bytes / size_of(c.type), 5);
  Buffer<char> work(work_bytes + 1), reserve(reserve_bytes + 1);
  Buffer<int> device_lengths(c.batch);
  for (int i = 0; i < c.batch; ++i) device_lengths[i] = lengths[i];
  // The equations, with weights where the library places them.
  cudnnTensorDescriptor_t md, bd;
  cudnnCreateTensorDescriptor(&md);
  cudnnCreateTensorDescriptor(&bd);
  auto gate_sum = [&](int pseudo, int gate, const std::vector<double>& in, bool with_bias,
                      std::vector<double>& out) {
    void *matrix = nullptr, *bias = nullptr;
    ASSERT_EQ(cudnnGetRNNWeightParams(handle, rnn, pseudo, weight_bytes, weights.get(), gate, md, &matrix, bd,
                                      &bias),
              CUDNN_STATUS_SUCCESS);
    const size_t m = (static_cast<char*>(matrix) - static_cast<char*>(weights.get())) / size_of(c.type);
    for (int i = 0; i < c.hidden; ++i) {
      for (size_t j = 0; j < in.size(); ++j) out[i] += weights[m + i * in.size() + j] * in[j];
      if (bias && with_bias)
        out[i] +=
            weights[(static_cast<char*>(bias) - static_cast<char*>(weights.get())) / size_of(c.type) + i];
    }
  };
  std::vector<std::vector<double>> layer(static_cast<size_t>(c.steps) * c.batch), next;
  for (int s = 0; s < c.batch; ++s)
    for (int t = 0; t < lengths[s]; ++t)
      for (int i = 0; i < c.input; ++i) layer[t * c.batch + s].push_back(x[place(t, s) * c.input + i]);
  std::vector<double> want_h(states), want_c(states);
  for (int l = 0; l < c.layers; ++l) {
    next.assign(layer.size(), std::vector<double>(wide));
    for (int d = 0; d < c.directions; ++d)
      for (int s = 0; s < c.batch; ++s) {
        const int pseudo = l * c.directions + d;
        const size_t at = (static_cast<size_t>(pseudo) * c.batch + s) * c.hidden;
        std::vector<double> h(c.hidden), cell(c.hidden);
        for (int i = 0; i < c.hidden && c.states; ++i) h[i] = hx[at + i], cell[i] = cx[at + i];
        for (int step = 0; step < lengths[s]; ++step) {
          const int t = d ? lengths[s] - 1 - step : step;
          std::vector<std::vector<double>> in(gates, std::vector<double>(c.hidden)), rec = in;
          for (int g = 0; g < gates; ++g) {
            gate_sum(pseudo, g, layer[t * c.batch + s], true, in[g]);
            gate_sum(pseudo, g + gates, h, true, rec[g]);
          }
          for (int i = 0; i < c.hidden; ++i) {
            auto sum = [&](int g) { return in[g][i] + rec[g][i]; };
            if (c.cell == CUDNN_RNN_RELU) h[i] = std::max(0.0, sum(0));
            if (c.cell == CUDNN_RNN_TANH) h[i] = std::tanh(sum(0));
            if (c.cell == CUDNN_LSTM) {
              cell[i] = sigmoid(sum(1)) * cell[i] + sigmoid(sum(0)) * std::tanh(sum(2));
              h[i] = sigmoid(sum(3)) * std::tanh(cell[i]);
            }
            if (c.cell == CUDNN_GRU)
              h[i] = (1 - sigmoid(sum(1))) * std::tanh(in[2][i] + sigmoid(sum(0)) * rec[2][i]) +
                     sigmoid(sum(1)) * h[i];
          }
          for (int i = 0; i < c.hidden; ++i) next[t * c.batch + s][d * c.hidden + i] = h[i];
        }
        for (int i = 0; i < c.hidden; ++i) want_h[at + i] = h[i], want_c[at + i] = cell[i];
      }
    layer = next;
  }
  cudnnTensorDescriptor_t hd;
  cudnnCreateTensorDescriptor(&hd);
  const int shape[] = {c.layers * c.directions, c.batch, c.hidden},
            strides[] = {c.batch * c.hidden, c.hidden, 1};
  cudnnSetTensorNdDescriptor(hd, type, 3, shape, strides);
  auto call = [&] {
    ASSERT_EQ(
        cudnnRNNForward(handle, rnn, c.mode, device_lengths.get(), xd, x.get(), yd, y.get(), hd,
                        c.states ? hx.get() : nullptr, hy.get(), hd, c.states ? cx.get() : nullptr, cy.get(),
                        weight_bytes, weights.get(), work_bytes, work.get(), reserve_bytes, reserve.get()),
        CUDNN_STATUS_SUCCESS);
  };
  if (captured)
    replay(stream, 2, call);
  else
    call();
  finish();
  const double slack = c.type == Type::f64 ? 1e-12 : c.type == Type::f16 ? 1e-2 : 1e-4;
  for (int s = 0; s < c.batch; ++s)
    for (int t = 0; t < c.steps; ++t)
      for (int i = 0; i < wide; ++i)
        if (t < lengths[s] || !packed) {
          const double want = t < lengths[s] ? layer[t * c.batch + s][i] : 0;
          ASSERT_NEAR(y[place(t, s) * wide + i], want, slack * std::max(1.0, std::abs(want)))
              << "time " << t << " sequence " << s;
        }
  for (size_t i = 0; i < states; ++i)
    ASSERT_NEAR(hy[i], want_h[i], slack * std::max(1.0, std::abs(want_h[i])));
  for (size_t i = 0; i < states && c.cell == CUDNN_LSTM; ++i)
    ASSERT_NEAR(cy[i], want_c[i], slack * std::max(1.0, std::abs(want_c[i])));
  for (auto each : {md, bd, hd}) cudnnDestroyTensorDescriptor(each);
  cudnnDestroyRNNDataDescriptor(xd);
  cudnnDestroyRNNDataDescriptor(yd);
  cudnnDestroyRNNDescriptor(rnn);
  cudnnDestroyDropoutDescriptor(dropout);
}

const cudnnRNNMode_t every_cell[] = {CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU};

TEST_F(Rnn, EveryCell) {
  for (cudnnRNNMode_t cell : every_cell)
    for (bool states : {true, false}) {
      Case c;
      c.cell = cell, c.states = states;
      SCOPED_TRACE(cell);
      check(c);
    }
}
TEST_F(Rnn, LayersAndDirections) {
  for (cudnnRNNMode_t cell : every_cell) {
    Case c;
    c.cell = cell, c.layers = 3, c.directions = 2, c.steps = 3;
    SCOPED_TRACE(cell);
    check(c);
  }
}
TEST_F(Rnn, LayoutsAndLengths) {
  for (auto layout : {CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                      CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED})
    for (int directions : {1, 2}) {
      Case c;
      c.layout = layout, c.lengths = {5, 4, 2}, c.directions = directions, c.layers = 2,
      c.cell = directions == 1 ? CUDNN_LSTM : CUDNN_GRU;
      SCOPED_TRACE(layout);
      check(c);
    }
}
TEST_F(Rnn, BiasModes) {
  for (auto bias : {CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_INP_BIAS, CUDNN_RNN_SINGLE_REC_BIAS})
    for (cudnnRNNMode_t cell : {CUDNN_LSTM, CUDNN_GRU}) {
      Case c;
      c.bias = bias, c.cell = cell, c.layers = 2;
      SCOPED_TRACE(bias);
      check(c);
    }
}
TEST_F(Rnn, OtherTypesTrainingAndGraphs) {
  Case c;
  for (Type type : {Type::f64, Type::f16}) {
    c.type = type;
    check(c);
  }
  c.type = Type::f32, c.mode = CUDNN_FWD_MODE_TRAINING;
  check(c);
  c.mode = CUDNN_FWD_MODE_INFERENCE;
  check(c, true);
}
TEST_F(Rnn, WhatIsRefused) {
  cudnnRNNDescriptor_t rnn;
  cudnnCreateRNNDescriptor(&rnn);
  auto set = [&](int hidden, int layers) {
    return cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                                    CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                                    CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, 4, hidden, hidden, layers, nullptr,
                                    0);
  };
  EXPECT_EQ(set(-1, 1) / 1000, 2);
  EXPECT_EQ(set(4, 0) / 1000, 2);
  cudnnRNNDataDescriptor_t data;
  cudnnCreateRNNDataDescriptor(&data);
  const int lengths[] = {2, 5};
  float fill = 0;
  EXPECT_EQ(cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 4, 2,
                                      3, lengths, &fill) /
                1000,
            2);
  cudnnDestroyRNNDataDescriptor(data);
  cudnnDestroyRNNDescriptor(rnn);
}

}  // namespace
}  // namespace stitch::emulated
