// scaled_dot_product_attention and dropout.
#include <cmath>

#include "import/aten/table.h"

namespace stitch {

namespace {

// Attention with dropout has no op of its own: its weights are written out.
ValueId with_dropout(Call& call, ValueId q, ValueId k, ValueId v, ValueId mask, bool causal, double scale,
                     double p) {
  DType dtype = call.type(q).dtype;
  ValueId scores =
      call.emit(Op::mul, {call.emit(Op::matmul, {q, call.swap_last(k)}), call.scalar(dtype, scale)});
  auto hide = [&](ValueId keep) {
    scores = call.emit(Op::where, {keep, scores, call.scalar(dtype, -INFINITY)});
  };
  if (causal) {
    int64_t rows = call.shape(scores).end()[-2], columns = call.shape(scores).back();
    ValueId row = call.reshape(call.emit(Op::iota, {}, {{"size", rows}, {"dtype", DType::i64}}), {rows, 1});
    hide(call.emit(Op::le, {call.emit(Op::iota, {}, {{"size", columns}, {"dtype", DType::i64}}), row}));
  }
  if (mask != ValueId::none && call.type(mask).dtype == DType::boolean)
    hide(mask);
  else if (mask != ValueId::none)
    scores = call.emit(Op::add, {scores, mask});
  ValueId weights = call.emit(Op::softmax, {scores}, {{"dim", int64_t{-1}}});
  ValueId kept = call.random(call.shape(weights), dtype, "bernoulli", 1 - p, 0);
  weights = call.emit(Op::mul, {call.emit(Op::mul, {weights, kept}), call.scalar(dtype, 1 / (1 - p))});
  return call.emit(Op::matmul, {weights, v});
}

ValueId repeat_heads(Call& call, ValueId x, int64_t heads) {
  Shape shape = call.shape(x), wide = shape;
  size_t d = shape.size() - 3;
  int64_t times = heads / shape[d];
  if (times == 1) return x;
  shape.insert(shape.begin() + static_cast<long>(d) + 1, 1);
  wide.insert(wide.begin() + static_cast<long>(d) + 1, times);
  Shape merged = call.shape(x);
  merged[d] = heads;
  return call.reshape(call.expand(call.reshape(x, shape), wide), merged);
}

ValueId attention(Call& call) {
  ValueId q = call.tensor("query"), k = call.tensor("key"), v = call.tensor("value");
  double scale = call.number("scale", 1 / std::sqrt(static_cast<double>(call.shape(q).back())));
  // Leading dimensions may broadcast; the op wants them written out (heads excepted).
  bool grouped = call.flag("enable_gqa", false);
  if (call.rank(q) == call.rank(k) && !grouped)
    for (ValueId* x : {&q, &k, &v}) {
      Shape shape = call.shape(*x);
      for (size_t i = 0; i + 2 < shape.size(); ++i)
        shape[i] = std::max({call.shape(q)[i], call.shape(k)[i], call.shape(v)[i]});
      *x = call.expand(*x, shape);
    }
  ValueId mask = call.tensor_or_none("attn_mask");
  bool causal = call.flag("is_causal");
  if (double p = call.number("dropout_p"); p > 0) {
    if (grouped) {
      int64_t heads = call.shape(q).end()[-3];
      k = repeat_heads(call, k, heads);
      v = repeat_heads(call, v, heads);
    }
    return with_dropout(call, q, k, v, mask, causal, scale, p);
  }
  return call.emit(Op::attention, {q, k, v, mask}, {{"causal", causal}, {"scale", scale}});
}

// Dropped with probability p, the rest scaled up. `features`: whole channels at once.
void dropout(Lowering& lowering, Call& call, bool features) {
  double p = call.number("p");
  if (!call.flag("train", true) || p == 0)
    return lowering.bind_view(call.node().outputs[0], call.tensor_name("input"), {});
  ValueId x = call.tensor("input");
  DType dtype = call.type(x).dtype;
  Shape shape = call.shape(x);
  if (features)
    for (size_t i = 2; i < shape.size(); ++i) shape[i] = 1;
  if (p == 1) return lowering.bind(call.node().outputs[0], call.emit(Op::mul, {x, call.scalar(dtype, 0)}));
  ValueId kept = call.random(shape, dtype, "bernoulli", 1 - p, 0);
  lowering.bind(call.node().outputs[0],
                call.emit(Op::mul, {call.emit(Op::mul, {x, kept}), call.scalar(dtype, 1 / (1 - p))}));
}

void dropout_in_place(Lowering& lowering, Call& call) {
  std::string self = call.tensor_name("self");
  double p = call.number("p");
  if (call.flag("train", true) && p > 0) {
    ValueId x = call.tensor("self");
    DType dtype = call.type(x).dtype;
    ValueId kept = call.random(call.shape(x), dtype, "bernoulli", 1 - p, 0);
    lowering.write(self, call.emit(Op::mul, {call.emit(Op::mul, {x, kept}),
                                             call.scalar(dtype, p == 1 ? 0 : 1 / (1 - p))}));
  }
  lowering.bind_view(call.node().outputs[0], self, {});
}

}  // namespace

void add_attention(AtenTable& table) {
  table.one("aten.scaled_dot_product_attention.default", attention);
  table.custom("aten.dropout.default",
               [](Lowering& lowering, Call& call) { dropout(lowering, call, false); });
  table.custom("aten.feature_dropout.default",
               [](Lowering& lowering, Call& call) { dropout(lowering, call, true); });
  table.custom("aten.dropout_.default", dropout_in_place);
}

}  // namespace stitch
