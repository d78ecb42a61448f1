// LSTM, GRU and plain RNN, whole sequences and single cells.
#include "import/aten/table.h"

namespace stitch {

namespace {

struct Sequence {
  std::string kind;
  ValueId x, h0, c0;
  Values weights;
  int64_t layers;
  bool bidirectional, batch_first, biases;
};

int64_t projection_of(Call& call, const Sequence& s) {
  return s.kind == "lstm" && call.shape(s.h0).back() != call.shape(s.c0).back() ? call.shape(s.h0).back() : 0;
}

Values run(Call& call, const Sequence& s) {
  Values operands = {s.x, s.h0, s.c0};
  operands.insert(operands.end(), s.weights.begin(), s.weights.end());
  return call.emit_all(Op::rnn, operands,
                       {{"kind", s.kind},
                        {"layers", s.layers},
                        {"bidirectional", s.bidirectional},
                        {"batch_first", s.batch_first},
                        {"biases", s.biases},
                        {"projection", projection_of(call, s)}});
}

// With dropout between the layers each layer is a node of its own.
Values run_with_dropout(Call& call, const Sequence& s, double p) {
  int64_t directions = s.bidirectional ? 2 : 1;
  size_t each = s.weights.size() / static_cast<size_t>(s.layers);
  Values last_h, last_c;
  Sequence layer = s;
  layer.layers = 1;
  for (int64_t i = 0; i < s.layers; ++i) {
    auto part = [&](ValueId state) { return call.slice(state, 0, i * directions, (i + 1) * directions); };
    layer.h0 = part(s.h0);
    if (s.c0 != ValueId::none) layer.c0 = part(s.c0);
    auto begin = s.weights.begin() + i * static_cast<int64_t>(each);
    layer.weights.assign(begin, begin + static_cast<int64_t>(each));
    Values results = run(call, layer);
    layer.x = results[0];
    last_h.push_back(results[1]);
    if (results.size() > 2) last_c.push_back(results[2]);
    if (i + 1 == s.layers) break;
    DType dtype = call.type(layer.x).dtype;
    if (p == 1) {
      layer.x = call.emit(Op::mul, {layer.x, call.scalar(dtype, 0)});
      continue;
    }
    ValueId kept = call.random(call.shape(layer.x), dtype, "bernoulli", 1 - p, 0);
    layer.x = call.emit(Op::mul, {call.emit(Op::mul, {layer.x, kept}), call.scalar(dtype, 1 / (1 - p))});
  }
  Values out = {layer.x, call.emit(Op::concat, last_h, {{"dim", int64_t{0}}})};
  if (!last_c.empty()) out.push_back(call.emit(Op::concat, last_c, {{"dim", int64_t{0}}}));
  return out;
}

Compute sequence(std::string kind) {
  return [kind](Call& call) {
    Sequence s{kind,
               call.tensor("input"),
               ValueId::none,
               ValueId::none,
               call.tensors("params"),
               call.integer("num_layers"),
               call.flag("bidirectional"),
               call.flag("batch_first"),
               call.flag("has_biases")};
    if (kind == "lstm") {
      Values states = call.tensors("hx");
      s.h0 = states.at(0);
      s.c0 = states.at(1);
    } else {
      s.h0 = call.tensor("hx");
    }
    double p = call.number("dropout");
    if (p > 0 && call.flag("train") && s.layers > 1) return run_with_dropout(call, s, p);
    return run(call, s);
  };
}

// A cell is a sequence of one step.
Compute cell(std::string kind) {
  return [kind](Call& call) {
    Sequence s{kind,
               call.tensor("input"),
               ValueId::none,
               ValueId::none,
               {call.tensor("w_ih"), call.tensor("w_hh")},
               1,
               false,
               false,
               call.has("b_ih")};
    if (s.biases) s.weights.insert(s.weights.end(), {call.tensor("b_ih"), call.tensor("b_hh")});
    auto state = [&](ValueId h) {
      Shape shape = call.shape(h);
      if (shape.size() == 1) shape.insert(shape.begin(), 1);
      shape.insert(shape.begin(), 1);
      return call.reshape(h, shape);
    };
    s.x = state(s.x);
    if (kind == "lstm") {
      Values states = call.tensors("hx");
      s.h0 = state(states.at(0));
      s.c0 = state(states.at(1));
    } else {
      s.h0 = state(call.tensor("hx"));
    }
    Values results = run(call, s);
    Values out = {call.reshape(results[1], call.output(0).shape)};
    if (kind == "lstm") out.push_back(call.reshape(results[2], call.output(1).shape));
    return out;
  };
}

}  // namespace

void add_recurrences(AtenTable& table) {
  table.many("aten.lstm.input", sequence("lstm"));
  table.many("aten.gru.input", sequence("gru"));
  table.many("aten.rnn_tanh.input", sequence("tanh"));
  table.many("aten.rnn_relu.input", sequence("relu"));
  table.many("aten.lstm_cell.default", cell("lstm"));
  table.many("aten.gru_cell.default", cell("gru"));
  table.many("aten.rnn_tanh_cell.default", cell("tanh"));
  table.many("aten.rnn_relu_cell.default", cell("relu"));
}

}  // namespace stitch
