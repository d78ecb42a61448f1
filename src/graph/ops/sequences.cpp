// Attention and recurrences.
#include <cmath>

#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<ResultTypes> infer_attention(OperandTypes in, const Attributes& attributes) {
  const TensorType &q = *in[0], &k = *in[1], &v = *in[2];
  STITCH_CHECK(need_floating(q, "the query"));
  STITCH_CHECK(need_same_dtype(q, k, "the key"));
  STITCH_CHECK(need_same_dtype(q, v, "the value"));
  auto wrong = [&] {
    return ill(format("attention of q {}, k {}, v {}", text(q.shape), text(k.shape), text(v.shape)));
  };
  const std::string& weights = attributes.text("weights");
  if (weights != "safe_softmax" && weights != "softmax" && weights != "relu")
    return ill(format("attention weighs by safe_softmax, softmax or relu, not by {}", weights));
  if (const double cap = attributes.number("soft_cap"); !(cap >= 0) || std::isinf(cap))
    return ill(format("attention caps scores at a positive number, not at {}", cap));
  if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank()) return wrong();
  size_t batch = q.shape.size() - 2;
  if (q.shape[batch + 1] != k.shape[batch + 1] || k.shape[batch] != v.shape[batch]) return wrong();
  for (size_t i = 0; i < batch; ++i) {
    if (k.shape[i] != v.shape[i]) return wrong();
    bool heads = i + 1 == batch;  // grouped queries: several query heads share a key head
    if (q.shape[i] != k.shape[i] && !(heads && k.shape[i] > 0 && q.shape[i] % k.shape[i] == 0))
      return wrong();
  }
  if (in[3]) {
    if (in[3]->dtype != DType::boolean && in[3]->dtype != DType::f32)
      STITCH_CHECK(need_same_dtype(q, *in[3], "the mask"));
    Shape scores(q.shape.begin(), q.shape.end() - 1);
    scores.push_back(k.shape[batch]);
    auto together = broadcast(in[3]->shape, scores);
    if (!together || *together != scores)
      return ill(format("a mask {} on scores {}", text(in[3]->shape), text(scores)));
  }
  Shape shape = q.shape;
  shape.back() = v.shape.back();
  return ResultTypes{{q.dtype, std::move(shape), {}}};
}

Cost attention_cost(OperandTypes in, const Attributes& attributes, const ResultTypes& results) {
  double rows = elements(in[0]) / static_cast<double>(std::max<int64_t>(in[0]->shape.back(), 1));
  double keys = static_cast<double>(in[1]->shape[in[1]->shape.size() - 2]);
  double scores = rows * keys * (attributes.flag("causal") ? 0.5 : 1);
  double products = 2 * scores * static_cast<double>(in[0]->shape.back() + in[2]->shape.back());
  return {products + 5 * scores, products, traffic(in, results)};
}

struct Recurrence {
  int64_t gates, directions, layers, hidden, output, batch, steps, input, weights_each;
  bool lstm, biases;
};

Result<Recurrence> recurrence(OperandTypes in, const Attributes& attributes) {
  const TensorType &x = *in[0], &h0 = *in[1];
  STITCH_CHECK(need_floating(x, "x"));
  const std::string& kind = attributes.text("kind");
  Recurrence r{};
  r.lstm = kind == "lstm";
  r.gates = r.lstm ? 4 : kind == "gru" ? 3 : 1;
  if (!r.lstm && kind != "gru" && kind != "tanh" && kind != "relu")
    return ill(format("rnn's kind is \"lstm\", \"gru\", \"tanh\" or \"relu\", not \"{}\"", kind));
  if (x.rank() != 3 || h0.rank() != 3)
    return ill(format("rnn of x {} and h0 {}", text(x.shape), text(h0.shape)));
  if (r.lstm != bool(in[2])) return ill("an lstm has a c0, and nothing else has");
  r.directions = attributes.flag("bidirectional") ? 2 : 1;
  r.layers = attributes.integer("layers");
  r.biases = attributes.flag("biases");
  bool batch_first = attributes.flag("batch_first");
  r.steps = x.shape[batch_first ? 1 : 0];
  r.batch = x.shape[batch_first ? 0 : 1];
  r.input = x.shape[2];
  r.output = h0.shape[2];
  int64_t projection = attributes.integer("projection");
  r.hidden = projection ? (r.lstm ? in[2]->shape.back() : 0) : r.output;
  if (projection && (!r.lstm || projection != r.output))
    return ill("rnn's projection is an lstm's output size");
  r.weights_each = 2 + (r.biases ? 2 : 0) + (projection ? 1 : 0);
  if (r.layers < 1 || r.layers > 4096 || std::ssize(in) - 3 != r.layers * r.directions * r.weights_each)
    return ill(format("rnn of {} layers has {} weights", r.layers, std::ssize(in) - 3));
  STITCH_CHECK(need_shape(h0, {r.layers * r.directions, r.batch, r.output}, "h0"));
  if (r.lstm) STITCH_CHECK(need_shape(*in[2], {r.layers * r.directions, r.batch, r.hidden}, "c0"));
  return r;
}

Result<ResultTypes> infer_rnn(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(Recurrence r, recurrence(in, attributes));
  size_t next = 3;
  for (int64_t layer = 0; layer < r.layers; ++layer) {
    int64_t input = layer == 0 ? r.input : r.output * r.directions;
    for (int64_t direction = 0; direction < r.directions; ++direction) {
      for (size_t i = next; i < next + static_cast<size_t>(r.weights_each); ++i)
        STITCH_CHECK(need_same_dtype(*in[0], *in[i], "a weight"));
      STITCH_CHECK(need_shape(*in[next++], {r.gates * r.hidden, input}, "an input weight"));
      STITCH_CHECK(need_shape(*in[next++], {r.gates * r.hidden, r.output}, "a hidden weight"));
      if (r.biases) {
        STITCH_CHECK(need_shape(*in[next++], {r.gates * r.hidden}, "an input bias"));
        STITCH_CHECK(need_shape(*in[next++], {r.gates * r.hidden}, "a hidden bias"));
      }
      if (attributes.integer("projection"))
        STITCH_CHECK(need_shape(*in[next++], {r.output, r.hidden}, "a projection weight"));
    }
  }
  Shape y = in[0]->shape;
  y[2] = r.output * r.directions;
  STITCH_CHECK(need_fit(y));
  ResultTypes types = {{in[0]->dtype, std::move(y), {}}, {in[0]->dtype, in[1]->shape, {}}};
  if (r.lstm) types.push_back({in[0]->dtype, in[2]->shape, {}});
  return types;
}

Cost rnn_cost(OperandTypes in, const Attributes& attributes, const ResultTypes& results) {
  auto r = recurrence(in, attributes);
  double weights = 0, cells = static_cast<double>(r->steps * r->batch);
  for (const TensorType* type : in.subspan(3))
    if (type->rank() == 2) weights += elements(type);
  double products = 2 * weights * cells;
  double gates = 8.0 * cells * static_cast<double>(r->layers * r->directions * r->gates * r->hidden);
  return {products + gates, products, traffic(in, results)};
}

}  // namespace

std::vector<OpInfo> sequences() {
  constexpr auto optional = OperandSpec::optional;
  return {
      {Op::attention,
       "attention",
       Family::sequence,
       "weights(q k^T * scale + mask) v; scores may be capped before they are masked, soft_cap * "
       "tanh(score / soft_cap); a bool mask keeps where true, others weigh as -inf does, one in f32 goes "
       "with any q; causal keeps "
       "key <= query; weights are softmax (a row that keeps nothing is NaN), safe_softmax (it is zero) or "
       "relu; "
       "query heads may share key heads",
       {{"q"}, {"k"}, {"v"}, {"mask", optional}},
       {{"causal", false}, {"scale", 1.0, true}, {"soft_cap", 0.0}, {"weights", std::string("safe_softmax")}},
       infer_attention,
       attention_cost},
      {Op::rnn,
       "rnn",
       Family::sequence,
       "lstm, gru, tanh or relu recurrence; weights a layer and direction: input, hidden, biases, "
       "projection; results y, hn, cn",
       {{"x"}, {"h0"}, {"c0", optional}, {"weights", OperandSpec::variadic}},
       {{"kind", std::string(), true},
        {"layers", int64_t{1}},
        {"bidirectional", false},
        {"batch_first", false},
        {"biases", true},
        {"projection", int64_t{0}}},
       infer_rnn,
       rnn_cost},
  };
}

}  // namespace stitch::ops
