// The forward pass: per layer one product for all inputs, then one small product per time step.
#include <cmath>

#include "cudnn/rnn.h"
#include "library/numbers.h"

namespace stitch_emulated {

namespace {

template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

// a (m, k) times b (k, n), on the device's threads.
template <class T>
void threaded_multiply(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
  constexpr int64_t columns = 128, rows = 64;
  const int64_t across = (n + columns - 1) / columns;
  for_each_part(static_cast<size_t>(across * ((m + rows - 1) / rows)), [&](size_t part) {
    const int64_t i = static_cast<int64_t>(part) / across * rows,
                  j = static_cast<int64_t>(part) % across * columns;
    multiply(std::min(rows, m - i), std::min(columns, n - j), k, a + i * k, k, b + j, n, c + i * n + j, n);
  });
}

template <class T>
class Forward {
 public:
  explicit Forward(const RnnCall& call)
      : call_(call),
        rnn_(call.rnn),
        batch_(call.x_desc.batch),
        hidden_(call.rnn.hidden),
        gates_(call.rnn.gates()) {}

  void run() {
    const int64_t steps = call_.x_desc.longest;
    std::vector<T> input(static_cast<size_t>(steps * batch_ * rnn_.input));  // (T, B, input)
    for_valid([&](int64_t time, int64_t sequence) {
      read(call_.element, call_.x, call_.x_desc.offset(time, sequence), 1, rnn_.input,
           input.data() + (time * batch_ + sequence) * rnn_.input);
    });
    for (int64_t layer = 0; layer < rnn_.layers; ++layer) {
      std::vector<T> output(static_cast<size_t>(steps * batch_ * hidden_ * rnn_.directions));
      for (int direction = 0; direction < rnn_.directions; ++direction)
        run_layer(layer, direction, input, output);
      input = std::move(output);
    }
    const int64_t size = call_.y_desc.vector;
    for_valid([&](int64_t time, int64_t sequence) {
      write(call_.element, call_.y, call_.y_desc.offset(time, sequence), 1, size,
            input.data() + (time * batch_ + sequence) * size);
    });
    if (call_.y_desc.fills && call_.y_desc.layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) fill_padding();
  }

 private:
  template <class F>
  void for_valid(F&& body) {
    for (int64_t sequence = 0; sequence < batch_; ++sequence)
      for (int64_t time = 0; time < length(sequence); ++time) body(time, sequence);
  }
  int64_t length(int64_t sequence) const { return call_.x_desc.lengths[static_cast<size_t>(sequence)]; }
  void fill_padding() {
    const std::vector<double> line(static_cast<size_t>(call_.y_desc.vector), call_.y_desc.fill);
    for (int64_t sequence = 0; sequence < batch_; ++sequence)
      for (int64_t time = length(sequence); time < call_.y_desc.longest; ++time)
        write(call_.element, call_.y, call_.y_desc.offset(time, sequence), 1, call_.y_desc.vector,
              line.data());
  }

  // The transposed matrices of all gates, concatenated: (columns, gates * hidden).
  std::vector<T> turned(int64_t pseudo_layer, bool recurrent, int64_t columns) {
    std::vector<T> out(static_cast<size_t>(columns * gates_ * hidden_)), row(static_cast<size_t>(columns));
    for (int64_t gate = 0; gate < gates_; ++gate) {
      const int64_t place = matrix_place(rnn_, pseudo_layer, gate + (recurrent ? gates_ : 0));
      for (int64_t i = 0; i < hidden_; ++i) {
        read(call_.element, call_.weights, place + i * columns, 1, columns, row.data());
        for (int64_t j = 0; j < columns; ++j)
          out[static_cast<size_t>(j * gates_ * hidden_ + gate * hidden_ + i)] = row[static_cast<size_t>(j)];
      }
    }
    round(out);
    return out;
  }
  std::vector<T> biases(int64_t pseudo_layer, bool recurrent) {
    std::vector<T> out(static_cast<size_t>(gates_ * hidden_));
    for (int64_t gate = 0; gate < gates_; ++gate) {
      const int64_t place = bias_place(rnn_, pseudo_layer, gate + (recurrent ? gates_ : 0));
      if (place >= 0) read(call_.element, call_.weights, place, 1, hidden_, out.data() + gate * hidden_);
    }
    return out;
  }
  void round(std::vector<T>& values) {
    if (call_.element == Element::f32) round_to(precision_of(rnn_.math), values.data(), values.size());
  }
  std::vector<T> state(const void* from, int64_t pseudo_layer) {
    std::vector<T> out(static_cast<size_t>(batch_ * hidden_));
    if (from) read(call_.element, from, pseudo_layer * batch_ * hidden_, 1, batch_ * hidden_, out.data());
    return out;
  }
  // Rounds as storing to memory would.
  T stored(T value) {
    if (call_.element == Element::f64 || call_.element == Element::f32) return value;
    uint16_t memory = 0;
    write(call_.element, &memory, 0, 1, 1, &value);
    read(call_.element, &memory, 0, 1, 1, &value);
    return value;
  }

  void run_layer(int64_t layer, int direction, const std::vector<T>& input, std::vector<T>& output) {
    const int64_t pseudo = layer * rnn_.directions + direction, size = rnn_.layer_input(layer);
    const int64_t steps = call_.x_desc.longest, wide = gates_ * hidden_;
    const std::vector<T> w = turned(pseudo, false, size), r = turned(pseudo, true, hidden_);
    const std::vector<T> w_bias = biases(pseudo, false), r_bias = biases(pseudo, true);
    std::vector<T> rounded = input, from_input(static_cast<size_t>(steps * batch_ * wide));
    round(rounded);
    threaded_multiply(steps * batch_, wide, size, rounded.data(), w.data(), from_input.data());
    std::vector<T> h = state(call_.hx, pseudo), c = state(call_.cx, pseudo);
    std::vector<T> from_state(static_cast<size_t>(batch_ * wide));
    for (int64_t step = 0; step < steps; ++step) {
      rounded = h;
      round(rounded);
      threaded_multiply(batch_, wide, hidden_, rounded.data(), r.data(), from_state.data());
      for (int64_t sequence = 0; sequence < batch_; ++sequence) {
        if (step >= length(sequence)) continue;  // this sequence has ended
        const int64_t time = direction ? length(sequence) - 1 - step : step;
        const T* in = from_input.data() + (time * batch_ + sequence) * wide;
        const T* rec = from_state.data() + sequence * wide;
        T* now = h.data() + sequence * hidden_;
        cell(in, rec, w_bias.data(), r_bias.data(), now, c.data() + sequence * hidden_);
        T* out = output.data() + ((time * batch_ + sequence) * rnn_.directions + direction) * hidden_;
        for (int64_t i = 0; i < hidden_; ++i) out[i] = now[i] = stored(now[i]);
      }
    }
    if (call_.hy) write(call_.element, call_.hy, pseudo * batch_ * hidden_, 1, batch_ * hidden_, h.data());
    if (call_.cy) write(call_.element, call_.cy, pseudo * batch_ * hidden_, 1, batch_ * hidden_, c.data());
  }

  void cell(const T* in, const T* rec, const T* in_bias, const T* rec_bias, T* h, T* c) {
    for (int64_t i = 0; i < hidden_; ++i) {
      auto sum = [&](int64_t gate) {
        const int64_t at = gate * hidden_ + i;
        return in[at] + in_bias[at] + rec[at] + rec_bias[at];
      };
      switch (rnn_.cell) {
        case CUDNN_RNN_RELU: h[i] = sum(0) > 0 ? sum(0) : T{}; break;
        case CUDNN_RNN_TANH: h[i] = std::tanh(sum(0)); break;
        case CUDNN_LSTM:
          c[i] = sigmoid(sum(1)) * c[i] + sigmoid(sum(0)) * std::tanh(sum(2));
          h[i] = sigmoid(sum(3)) * std::tanh(c[i]);
          break;
        case CUDNN_GRU: {
          const int64_t at = 2 * hidden_ + i;
          const T fresh = std::tanh(in[at] + in_bias[at] + sigmoid(sum(0)) * (rec[at] + rec_bias[at]));
          const T keep = sigmoid(sum(1));
          h[i] = (T{1} - keep) * fresh + keep * h[i];
          break;
        }
      }
    }
  }

  const RnnCall& call_;
  const cudnnRNNStruct& rnn_;
  int64_t batch_, hidden_, gates_;
};

}  // namespace

void run_rnn(const RnnCall& call) {
  if (call.element == Element::f64)
    Forward<double>(call).run();
  else
    Forward<float>(call).run();
}

}  // namespace stitch_emulated
