// Shared by all rnn techniques.
#pragma once

#include "code/products/signature.h"
#include "code/products/view.h"

namespace stitch::code {

struct Recurrence {
  // One layer in one direction; null: absent.
  struct Weights {
    const Place *input = nullptr, *hidden = nullptr, *input_bias = nullptr, *hidden_bias = nullptr,
                *projection = nullptr;
  };
  std::string kind;  // lstm, gru, tanh, relu
  int64_t gates = 1, layers = 1, directions = 1, steps = 0, batch = 0, input = 0, hidden = 0, output = 0;
  bool batch_first = false, biases = false, projected = false;
  DType dtype = DType::f32;
  View x;                                                  // (steps, batch, input), in any layout
  const Place *h0 = nullptr, *c0 = nullptr;                // (layers · directions, batch, output or hidden)
  std::vector<Weights> weights;                            // by layer, then direction
  const Place *y = nullptr, *hn = nullptr, *cn = nullptr;  // null: unused
  int64_t y_step = 0, y_row = 0;                           // strides of y: a step, a sample

  bool lstm() const { return kind == "lstm"; }
};

// For `accepts`: a single non-empty rnn, of f32 or f64.
Result<void> accepts_recurrence(const Graph& graph, const plan::Region& region);
// Kind and sizes, from the graph.
Recurrence recurrence_sizes(const Graph& graph, const plan::Region& region);
Result<Recurrence> recurrence_of(const RegionRequest& request);
std::string describe(const Recurrence& recurrence);
// Lines that declare `r`, a struct of this type, and fill in what `signature` then reads and writes;
// `workspace`: its member for that.
std::string filled_struct(const Recurrence& recurrence, Signature& signature, std::string_view type,
                          std::string_view workspace);

// Sequential latency of a region's recurrences in seconds, from the number of steps, the layers, and whether
// both directions run.
double step_latency(const Graph& graph, const plan::Region& region,
                    double (*seconds)(double steps, double layers, bool both_directions));

}  // namespace stitch::code
