// Recurrences: the inputs' part of the gates for all steps by one product, then step by step.
#include <cmath>

#include "oracle/blas.h"
#include "oracle/call.h"

namespace stitch::oracle {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Sizes {
  int64_t gates, layers, directions, steps, batch, hidden, output;
  bool biases, projected;
};

// One layer in one direction.
struct Weights {
  const double *input, *hidden;  // (gates * hidden, input), (gates * hidden, output)
  const double *input_bias = nullptr, *hidden_bias = nullptr;  // (gates * hidden)
  const double* projection = nullptr;                          // (output, hidden)
};

// y (m, n) = x (m, k) w (n, k)^T + bias
void affine(const double* x, const double* w, const double* bias, int64_t m, int64_t n, int64_t k,
            double* y) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) y[i * n + j] = bias ? bias[j] : 0;
  Gemm shape{.m = m, .n = n, .k = k, .transpose_b = true, .beta = 1};
  shape.stride_a = shape.stride_b = k;
  shape.stride_c = n;
  gemm(shape, x, w, y);
}

// New hidden values (and an lstm's cell) from one sample's gates: x from the input, h from the state.
void lstm_cell(const double* x, const double* h, int64_t size, double* cell, double* hidden) {
  for (int64_t i = 0; i < size; ++i) {
    auto gate = [&](int64_t g) { return x[g * size + i] + h[g * size + i]; };
    cell[i] = sigmoid(gate(1)) * cell[i] + sigmoid(gate(0)) * std::tanh(gate(2));
    hidden[i] = sigmoid(gate(3)) * std::tanh(cell[i]);
  }
}

// As in PyTorch: the reset gate is applied after the state's product and bias.
void gru_cell(const double* x, const double* h, int64_t size, double* hidden) {
  for (int64_t i = 0; i < size; ++i) {
    double reset = sigmoid(x[i] + h[i]), update = sigmoid(x[size + i] + h[size + i]);
    double fresh = std::tanh(x[2 * size + i] + reset * h[2 * size + i]);
    hidden[i] = (1 - update) * fresh + update * hidden[i];
  }
}

void plain_cell(const double* x, const double* h, int64_t size, bool relu, double* hidden) {
  for (int64_t i = 0; i < size; ++i) {
    double sum = x[i] + h[i];
    hidden[i] = relu ? (sum < 0 ? 0 : sum) : std::tanh(sum);
  }
}

// x (steps, batch, input) to y (steps, batch, directions * output), from column `column`. state (batch,
// output) and cell (batch, hidden) are the first on entry and the last on return.
void run_direction(const Sizes& s, const std::string& kind, const Weights& weights, const double* x,
                   int64_t input, bool reversed, double* state, double* cell, double* y, int64_t column) {
  int64_t gates = s.gates * s.hidden, row = s.batch * gates;
  std::vector<double> from_input(static_cast<size_t>(s.steps * row)), from_state(static_cast<size_t>(row));
  std::vector<double> unprojected(static_cast<size_t>(s.projected ? s.batch * s.hidden : 0));
  affine(x, weights.input, weights.input_bias, s.steps * s.batch, gates, input, from_input.data());
  for (int64_t i = 0; i < s.steps; ++i) {
    int64_t step = reversed ? s.steps - 1 - i : i;
    affine(state, weights.hidden, weights.hidden_bias, s.batch, gates, s.output, from_state.data());
    double* hidden = s.projected ? unprojected.data() : state;
    for (int64_t b = 0; b < s.batch; ++b) {
      const double *xs = from_input.data() + step * row + b * gates, *hs = from_state.data() + b * gates;
      if (kind == "lstm")
        lstm_cell(xs, hs, s.hidden, cell + b * s.hidden, hidden + b * s.hidden);
      else if (kind == "gru")
        gru_cell(xs, hs, s.hidden, hidden + b * s.hidden);
      else
        plain_cell(xs, hs, s.hidden, kind == "relu", hidden + b * s.hidden);
    }
    if (s.projected) affine(hidden, weights.projection, nullptr, s.batch, s.output, s.hidden, state);
    for (int64_t b = 0; b < s.batch; ++b)
      std::copy_n(state + b * s.output, s.output,
                  y + (step * s.batch + b) * s.directions * s.output + column);
  }
}

// (a, b, width) to (b, a, width)
std::vector<double> swapped(const double* x, int64_t a, int64_t b, int64_t width) {
  std::vector<double> out(static_cast<size_t>(a * b * width));
  for (int64_t i = 0; i < a; ++i)
    for (int64_t j = 0; j < b; ++j)
      std::copy_n(x + (i * b + j) * width, width, out.data() + (j * a + i) * width);
  return out;
}

}  // namespace

Outcome evaluate_rnn(const Call& call) {
  const Tensor &x = call.in(0), &h0 = call.in(1);
  const Attributes& attributes = call.attributes();
  const std::string& kind = attributes.text("kind");
  bool lstm = kind == "lstm", batch_first = attributes.flag("batch_first");
  if (!x.floating()) return user_error("unsupported", "a recurrence of integers");
  Sizes s{.gates = lstm            ? 4
                   : kind == "gru" ? 3
                                   : 1,
          .layers = attributes.integer("layers"),
          .directions = attributes.flag("bidirectional") ? 2 : 1,
          .steps = x.shape()[batch_first ? 1 : 0],
          .batch = x.shape()[batch_first ? 0 : 1],
          .hidden = lstm ? call.in(2).shape()[2] : h0.shape()[2],
          .output = h0.shape()[2],
          .biases = attributes.flag("biases"),
          .projected = attributes.integer("projection") != 0};

  std::vector<Tensor> results;
  results.push_back(call.result(0));
  results.push_back(h0.copy());
  if (lstm) results.push_back(call.in(2).copy());
  double* states = results[1].writable<double>();
  double* cells = lstm ? results[2].writable<double>() : nullptr;

  int64_t input = x.shape()[2], width = s.directions * s.output;
  const double* in = x.data<double>();
  std::vector<double> held =
      batch_first ? swapped(in, s.batch, s.steps, input) : std::vector<double>(in, in + x.elements());
  size_t next = 3;
  auto take = [&] { return call.in(next++).data<double>(); };
  for (int64_t layer = 0; layer < s.layers; ++layer) {
    std::vector<double> y(static_cast<size_t>(s.steps * s.batch * width));
    for (int64_t direction = 0; direction < s.directions; ++direction) {
      Weights weights{.input = take(), .hidden = take()};
      if (s.biases) {
        weights.input_bias = take();
        weights.hidden_bias = take();
      }
      if (s.projected) weights.projection = take();
      int64_t slot = layer * s.directions + direction;
      run_direction(s, kind, weights, held.data(), input, direction == 1, states + slot * s.batch * s.output,
                    lstm ? cells + slot * s.batch * s.hidden : nullptr, y.data(), direction * s.output);
    }
    held = std::move(y);
    input = width;
  }
  if (batch_first) held = swapped(held.data(), s.steps, s.batch, width);
  std::copy(held.begin(), held.end(), results[0].writable<double>());
  return results;
}

}  // namespace stitch::oracle
