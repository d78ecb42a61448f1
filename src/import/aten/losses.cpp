// Losses, written out in pointwise ops and reductions.
#include <cmath>
#include <numbers>

#include "import/aten/promotion.h"
#include "import/aten/table.h"

namespace stitch {

namespace {

// A little algebra, so that the formulas below can be read.
class Math {
 public:
  explicit Math(Call& call) : call(call) {}
  Call& call;
  ValueId number(ValueId like, double value) const { return call.scalar(call.type(like).dtype, value); }
  ValueId add(ValueId a, ValueId b) const { return call.emit(Op::add, {a, b}); }
  ValueId add(ValueId a, double b) const { return add(a, number(a, b)); }
  ValueId sub(ValueId a, ValueId b) const { return call.emit(Op::sub, {a, b}); }
  ValueId mul(ValueId a, ValueId b) const { return call.emit(Op::mul, {a, b}); }
  ValueId mul(ValueId a, double b) const { return mul(a, number(a, b)); }
  ValueId div(ValueId a, ValueId b) const { return call.emit(Op::div, {a, b}); }
  ValueId neg(ValueId a) const { return call.emit(Op::neg, {a}); }
  ValueId abs(ValueId a) const { return call.emit(Op::abs, {a}); }
  ValueId exp(ValueId a) const { return call.emit(Op::exp, {a}); }
  ValueId log(ValueId a) const { return call.emit(Op::log, {a}); }
  ValueId relu(ValueId a) const { return call.emit(Op::clamp, {a}, {{"low", 0.0}}); }
  ValueId at_least(ValueId a, double low) const { return call.emit(Op::clamp, {a}, {{"low", low}}); }
  ValueId softplus(ValueId a) const { return call.emit(Op::softplus, {a}, {{"threshold", 1e30}}); }
  ValueId where(ValueId c, ValueId a, ValueId b) const { return call.emit(Op::where, {c, a, b}); }
  ValueId less(ValueId a, double b) const { return call.emit(Op::lt, {a, number(a, b)}); }
  ValueId equal(ValueId a, double b) const { return call.emit(Op::eq, {a, number(a, b)}); }
  ValueId sum(ValueId a, const std::vector<int64_t>& dims = {}, bool keepdim = false) const {
    return call.reduce(Op::sum, a, dims, keepdim);
  }

  // 0: as it is, 1: mean, 2: sum.
  ValueId reduced(ValueId loss, int64_t reduction) const {
    return reduction == 0 ? loss : call.reduce(reduction == 1 ? Op::mean : Op::sum, loss);
  }
  ValueId reduced(ValueId loss) const { return reduced(loss, call.integer("reduction", 1)); }
};

struct Pair {
  ValueId x, target;
};

Pair operands(Call& call, const char* x = "self", const char* target = "target") {
  DType dtype = common_dtype(call, {x, target});
  return {call.cast(call.tensor(x), dtype), call.cast(call.tensor(target), dtype)};
}

ValueId mse(Call& call) {
  Math m(call);
  auto [x, target] = operands(call);
  ValueId gap = m.sub(x, target);
  return m.reduced(m.mul(gap, gap));
}

ValueId l1(Call& call) {
  Math m(call);
  auto [x, target] = operands(call);
  return m.reduced(m.abs(m.sub(x, target)));
}

// Quadratic near zero, linear beyond `knee`: `quadratic` scales d², and |d| * slope - offset beyond.
ValueId rounded_l1(Call& call, double knee, double quadratic, double slope, double offset) {
  Math m(call);
  auto [x, target] = operands(call);
  ValueId d = m.abs(m.sub(x, target));
  ValueId far = m.add(m.mul(d, slope), -offset);
  return m.reduced(m.where(m.less(d, knee), m.mul(m.mul(d, d), quadratic), far));
}

ValueId smooth_l1(Call& call) {
  double beta = call.number("beta", 1);
  return beta == 0 ? l1(call) : rounded_l1(call, beta, 0.5 / beta, 1, 0.5 * beta);
}

ValueId huber(Call& call) {
  double delta = call.number("delta", 1);
  // At exactly delta both branches agree.
  return rounded_l1(call, delta, 0.5, delta, 0.5 * delta * delta);
}

int64_t class_dimension(Call& call, ValueId x) { return call.rank(x) > 1 ? 1 : 0; }

// A weight a class, shaped to broadcast against x.
ValueId class_weights(Call& call, ValueId x, int64_t dim) {
  Shape shape(static_cast<size_t>(call.rank(x)), 1);
  shape[static_cast<size_t>(dim)] = call.shape(x)[static_cast<size_t>(dim)];
  return call.reshape(call.tensor("weight"), shape);
}

// Negative log-likelihood of integer targets; `log_p` has classes along `dim`.
struct Likelihood {
  ValueId loss;    // one a target, 0 where ignored
  ValueId weight;  // one a target, 0 where ignored
  ValueId counted;
};

Likelihood likelihood(Math& m, ValueId log_p, ValueId target, int64_t dim) {
  Call& call = m.call;
  ValueId counted =
      call.emit(Op::ne, {target, m.number(target, static_cast<double>(call.integer("ignore_index", -100)))});
  ValueId safe = m.where(counted, target, m.number(target, 0));
  Shape one = call.shape(log_p);
  one[static_cast<size_t>(dim)] = 1;
  ValueId picked = call.reshape(call.emit(Op::gather, {log_p, call.reshape(safe, one)}, {{"dim", dim}}),
                                call.shape(target));
  ValueId zero = m.number(log_p, 0);
  ValueId weight = call.has("weight") ? call.emit(Op::index, {call.tensor("weight"), safe},
                                                  {{"dims", std::vector<int64_t>{0}}})
                                      : m.number(log_p, 1);
  weight = m.where(counted, weight, zero);
  return {m.where(counted, m.neg(m.mul(picked, weight)), zero), weight, counted};
}

ValueId nll(Call& call) {
  Math m(call);
  ValueId log_p = call.tensor("self"), target = call.tensor("target");
  Likelihood l = likelihood(m, log_p, target, class_dimension(call, log_p));
  int64_t reduction = call.integer("reduction", 1);
  return reduction == 1 ? m.div(m.sum(l.loss), m.sum(l.weight)) : m.reduced(l.loss, reduction);
}

ValueId cross_entropy_with_probabilities(Math& m, ValueId x, ValueId target, int64_t dim) {
  Call& call = m.call;
  double smoothing = call.number("label_smoothing", 0),
         classes = static_cast<double>(call.shape(x)[static_cast<size_t>(dim)]);
  if (smoothing > 0) target = m.add(m.mul(target, 1 - smoothing), smoothing / classes);
  ValueId product = m.mul(call.emit(Op::log_softmax, {x}, {{"dim", dim}}), target);
  if (call.has("weight")) product = m.mul(product, class_weights(call, x, dim));
  int64_t reduction = call.integer("reduction", 1);
  if (reduction == 0) return m.neg(m.sum(product, {dim}));
  ValueId total = m.neg(m.sum(product));
  return reduction == 2 ? total : m.mul(total, classes / static_cast<double>(call.type(x).elements()));
}

ValueId cross_entropy(Call& call) {
  Math m(call);
  ValueId x = call.tensor("self"), target = call.tensor("target");
  int64_t dim = class_dimension(call, x);
  if (is_floating(call.type(target).dtype)) return cross_entropy_with_probabilities(m, x, target, dim);
  double smoothing = call.number("label_smoothing", 0),
         classes = static_cast<double>(call.shape(x)[static_cast<size_t>(dim)]);
  ValueId log_p = call.emit(Op::log_softmax, {x}, {{"dim", dim}});
  Likelihood l = likelihood(m, log_p, target, dim);
  ValueId loss = l.loss;
  if (smoothing > 0) {
    ValueId spread = call.has("weight") ? m.mul(log_p, class_weights(call, x, dim)) : log_p;
    spread = m.where(l.counted, m.neg(m.sum(spread, {dim})), m.number(x, 0));
    loss = m.add(m.mul(loss, 1 - smoothing), m.mul(spread, smoothing / classes));
  }
  int64_t reduction = call.integer("reduction", 1);
  return reduction == 1 ? m.div(m.sum(loss), m.sum(call.expand(l.weight, call.shape(loss))))
                        : m.reduced(loss, reduction);
}

ValueId binary_cross_entropy(Call& call) {
  Math m(call);
  ValueId p = call.tensor("self"), target = call.tensor("target");
  ValueId yes = m.at_least(m.log(p), -100), no = m.at_least(call.emit(Op::log1p, {m.neg(p)}), -100);
  // (t - 1) * log(1 - p) - t * log(p)
  ValueId loss = m.sub(m.mul(m.add(target, -1), no), m.mul(target, yes));
  if (call.has("weight")) loss = m.mul(loss, call.tensor("weight"));
  return m.reduced(loss);
}

ValueId binary_cross_entropy_with_logits(Call& call) {
  Math m(call);
  ValueId x = call.tensor("self"), target = call.tensor("target");
  ValueId log_no = m.softplus(m.neg(x));  // -log(sigmoid(x))
  if (call.has("pos_weight")) {
    ValueId factor = m.add(m.mul(m.add(call.tensor("pos_weight"), -1), target), 1);
    log_no = m.mul(factor, log_no);
  }
  ValueId loss = m.add(m.mul(m.sub(m.number(target, 1), target), x), log_no);
  if (call.has("weight")) loss = m.mul(loss, call.tensor("weight"));
  return m.reduced(loss);
}

ValueId kl_div(Call& call) {
  Math m(call);
  auto [x, target] = operands(call);
  if (call.flag("log_target", false)) return m.reduced(m.mul(m.exp(target), m.sub(target, x)));
  ValueId zero = m.number(target, 0);
  ValueId entropy = m.where(m.equal(target, 0), zero, m.mul(target, m.log(target)));
  return m.reduced(m.sub(entropy, m.mul(target, x)));
}

// |a - b + eps|_p over the last dimension.
ValueId distance(Math& m, ValueId a, ValueId b, double p, double eps, bool keepdim = false) {
  ValueId gap = m.add(m.sub(a, b), eps);
  return m.call.emit(
      Op::norm, {gap},
      {{"dims", std::vector<int64_t>{m.call.rank(gap) - 1}}, {"keepdim", keepdim}, {"order", p}});
}

ValueId triplet_margin(Call& call) {
  Math m(call);
  ValueId anchor = call.tensor("anchor"), positive = call.tensor("positive"),
          negative = call.tensor("negative");
  double p = call.number("p", 2), eps = call.number("eps", 1e-6);
  ValueId near = distance(m, anchor, positive, p, eps), far = distance(m, anchor, negative, p, eps);
  if (call.flag("swap", false)) far = call.emit(Op::minimum, {far, distance(m, positive, negative, p, eps)});
  return m.reduced(m.relu(m.add(m.sub(near, far), call.number("margin", 1))));
}

ValueId cosine_similarity(Call& call) {
  Math m(call);
  DType dtype = call.output().dtype;
  ValueId a = call.cast(call.tensor("x1"), dtype), b = call.cast(call.tensor("x2"), dtype);
  double eps = call.number("eps", 1e-8);
  auto both = broadcast(call.shape(a), call.shape(b));
  a = call.expand(a, *both);
  b = call.expand(b, *both);
  std::vector<int64_t> dims = {call.dimension(call.integer("dim", 1), call.rank(a))};
  auto length = [&](ValueId x) {
    return m.at_least(call.emit(Op::norm, {x}, {{"dims", dims}, {"keepdim", true}}), eps);
  };
  return m.sum(m.mul(m.div(a, length(a)), m.div(b, length(b))), dims);
}

ValueId cosine_embedding(Call& call) {
  Math m(call);
  ValueId a = call.tensor("input1"), b = call.tensor("input2"), target = call.tensor("target");
  std::vector<int64_t> dims = {call.rank(target)};
  constexpr double eps = 1e-12;
  auto square = [&](ValueId x) { return m.add(m.sum(m.mul(x, x), dims), eps); };
  ValueId cosine = m.div(m.sum(m.mul(a, b), dims), call.emit(Op::sqrt, {m.mul(square(a), square(b))}));
  ValueId zero = m.number(cosine, 0);
  ValueId same = m.where(m.equal(target, 1), m.sub(m.number(cosine, 1), cosine), zero);
  ValueId apart = m.where(m.equal(target, -1), m.relu(m.add(cosine, -call.number("margin", 0))), zero);
  return m.reduced(m.add(same, apart));
}

ValueId margin_ranking(Call& call) {
  Math m(call);
  ValueId gap = m.sub(call.tensor("input1"), call.tensor("input2"));
  return m.reduced(m.relu(m.add(m.mul(m.neg(call.cast(call.tensor("target"), call.type(gap).dtype)), gap),
                                call.number("margin", 0))));
}

ValueId hinge_embedding(Call& call) {
  Math m(call);
  auto [x, target] = operands(call);
  ValueId zero = m.number(x, 0);
  ValueId far = m.where(m.equal(target, 1), zero, m.relu(m.sub(m.number(x, call.number("margin", 1)), x)));
  ValueId near = m.where(m.equal(target, -1), zero, x);
  return m.reduced(m.add(far, near));
}

ValueId soft_margin(Call& call) {
  Math m(call);
  auto [x, target] = operands(call);
  return m.reduced(call.emit(Op::log1p, {m.exp(m.mul(m.neg(target), x))}));
}

ValueId poisson_nll(Call& call) {
  Math m(call);
  auto [x, target] = operands(call, "input");
  ValueId loss = call.flag("log_input") ? m.sub(m.exp(x), m.mul(target, x))
                                        : m.sub(x, m.mul(target, m.log(m.add(x, call.number("eps")))));
  if (call.flag("full")) {
    ValueId stirling = m.add(m.sub(m.mul(target, m.log(target)), target),
                             m.mul(m.log(m.mul(target, 2 * std::numbers::pi)), 0.5));
    loss =
        m.add(loss, m.where(call.emit(Op::le, {target, m.number(target, 1)}), m.number(target, 0), stirling));
  }
  return m.reduced(loss);
}

ValueId pairwise_distance(Call& call) {
  Math m(call);
  return distance(m, call.tensor("x1"), call.tensor("x2"), call.number("p", 2), call.number("eps", 1e-6),
                  call.flag("keepdim", false));
}

}  // namespace

void add_losses(AtenTable& table) {
  table.one("aten.mse_loss.default", mse);
  table.one("aten.l1_loss.default", l1);
  table.one("aten.smooth_l1_loss.default", smooth_l1);
  table.one("aten.huber_loss.default", huber);
  table.one("aten.cross_entropy_loss.default", cross_entropy);
  for (const char* name : {"nll_loss", "nll_loss2d", "nll_loss_nd"})
    table.one(format("aten.{}.default", name), nll);
  table.one("aten.binary_cross_entropy.default", binary_cross_entropy);
  table.one("aten.binary_cross_entropy_with_logits.default", binary_cross_entropy_with_logits);
  table.one("aten.kl_div.default", kl_div);
  table.one("aten.triplet_margin_loss.default", triplet_margin);
  table.one("aten.cosine_similarity.default", cosine_similarity);
  table.one("aten.cosine_embedding_loss.default", cosine_embedding);
  table.one("aten.margin_ranking_loss.default", margin_ranking);
  table.one("aten.hinge_embedding_loss.default", hinge_embedding);
  table.one("aten.soft_margin_loss.default", soft_margin);
  table.one("aten.poisson_nll_loss.default", poisson_nll);
  table.one("aten.pairwise_distance.default", pairwise_distance);
}

}  // namespace stitch
