// The loss of connectionist temporal classification: the forward recursion over time, written out.
//
// A target of length L is walked through 2 L + 1 states: a blank, its first label, a blank, its second, …, a
// blank. alpha[s] is the log-probability of all paths that have come to state s. From one step to the next a
// path stays, moves on by one state, or skips the blank between two different labels.
#include <cmath>

#include "base/text.h"
#include "import/aten/emit.h"

namespace stitch {

namespace ctc {

namespace {

constexpr int64_t most_steps = 512;  // about 20 nodes each
constexpr double never = -INFINITY;

ValueId count(Call& call, int64_t size) {
  return call.emit(Op::iota, {}, {{"size", size}, {"dtype", DType::i64}});
}

// A length for each sample: (N).
ValueId lengths(Call& call, const char* name, int64_t samples) {
  if (call.is_tensor(name)) return call.expand(call.cast(call.tensor(name), DType::i64), {samples});
  Values each;
  for (int64_t length : call.integers(name))
    each.push_back(call.full({1}, DType::i64, static_cast<double>(length)));
  return each.size() == 1 ? each[0] : call.emit(Op::concat, each, {{"dim", int64_t{0}}});
}

// Targets side by side: (N, L). What lies behind a target's length is label 0, which is never read.
ValueId labels(Call& call, ValueId length, int64_t samples) {
  ValueId targets = call.cast(call.tensor("targets"), DType::i64);
  ValueId zero = call.scalar(DType::i64, 0);
  ValueId longs = call.reshape(length, {samples, 1});
  int64_t width = call.shape(targets).back();
  if (call.rank(targets) == 1 && samples > 1) {  // one behind the other
    ValueId begin = sub(call, call.emit(Op::cumsum, {length}, {{"dim", int64_t{0}}}), length);
    ValueId place = add(call, call.reshape(begin, {samples, 1}), count(call, width));
    place = call.emit(Op::clamp, {place}, {{"low", 0.0}, {"high", static_cast<double>(width - 1)}});
    targets = call.emit(Op::index, {targets, place}, {{"dims", std::vector<int64_t>{0}}});
  }
  targets = call.reshape(targets, {samples, width});
  return call.emit(Op::where, {call.emit(Op::lt, {count(call, width), longs}), targets, zero});
}

// A blank before every label and behind the last: (N, 2 L + 1).
ValueId with_blanks(Call& call, ValueId label) {
  int64_t samples = call.shape(label)[0], width = call.shape(label)[1];
  double blank = static_cast<double>(call.integer("blank", 0));
  ValueId pairs =
      call.emit(Op::concat,
                {call.full({samples, width, 1}, DType::i64, blank), call.reshape(label, {samples, width, 1})},
                {{"dim", int64_t{2}}});
  return call.emit(Op::concat,
                   {call.reshape(pairs, {samples, 2 * width}), call.full({samples, 1}, DType::i64, blank)},
                   {{"dim", int64_t{1}}});
}

// log of a sum of exponentials; `never` where all of them are.
ValueId log_of_sum(Call& call, const Values& terms) {
  ValueId most = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) most = call.emit(Op::maximum, {most, terms[i]});
  ValueId hopeless = call.emit(Op::eq, {most, constant(call, most, never)});
  most = call.emit(Op::where, {hopeless, constant(call, most, 0), most});
  ValueId sum = ValueId::none;
  for (ValueId term : terms) {
    ValueId share = call.emit(Op::exp, {sub(call, term, most)});
    sum = sum == ValueId::none ? share : add(call, sum, share);
  }
  return add(call, call.emit(Op::log, {sum}), most);
}

ValueId pick(Call& call, ValueId x, ValueId place) {
  int64_t samples = call.shape(x)[0];
  ValueId safe = call.emit(Op::clamp, {place}, {{"low", 0.0}});
  return call.reshape(call.emit(Op::gather, {x, call.reshape(safe, {samples, 1})}, {{"dim", int64_t{1}}}),
                      {samples});
}

// The loss of every sample: (N).
ValueId of_samples(Call& call, ValueId log_p, ValueId steps, ValueId length) {
  DType dtype = call.type(log_p).dtype;
  int64_t most = call.shape(log_p)[0], samples = call.shape(log_p)[1];
  ValueId state = with_blanks(call, labels(call, length, samples));
  int64_t states = call.shape(state)[1];
  ValueId emitted = call.emit(
      Op::gather, {log_p, call.expand(call.reshape(state, {1, samples, states}), {most, samples, states})},
      {{"dim", int64_t{2}}});
  auto at = [&](int64_t t) { return call.reshape(call.slice(emitted, 0, t, t + 1), {samples, states}); };

  ValueId impossible = call.full({samples, 2}, dtype, never);
  ValueId is_skip = call.full({samples, 2}, DType::boolean, 0);
  if (states > 2)
    is_skip = call.emit(
        Op::concat,
        {is_skip, call.emit(Op::ne, {call.slice(state, 1, 2, states), call.slice(state, 1, 0, states - 2)})},
        {{"dim", int64_t{1}}});
  else
    is_skip = call.slice(is_skip, 1, 0, states);

  // A path begins with the blank or, where there is one, the first label.
  ValueId begins = call.emit(Op::lt, {count(call, states), call.scalar(DType::i64, 2)});
  ValueId reached = call.emit(
      Op::le, {count(call, states),
               call.reshape(call.emit(Op::mul, {length, call.scalar(DType::i64, 2)}), {samples, 1})});
  ValueId nothing = call.scalar(dtype, never);
  ValueId alpha = call.emit(Op::where, {call.emit(Op::logical_and, {begins, reached}), at(0), nothing});
  for (int64_t t = 1; t < most; ++t) {
    ValueId padded = call.emit(Op::concat, {impossible, alpha}, {{"dim", int64_t{1}}});
    ValueId moved = call.slice(padded, 1, 1, states + 1), skipped = call.slice(padded, 1, 0, states);
    skipped = call.emit(Op::where, {is_skip, skipped, nothing});
    ValueId next = add(call, log_of_sum(call, {alpha, moved, skipped}), at(t));
    ValueId lasts = call.reshape(call.emit(Op::gt, {steps, call.scalar(DType::i64, static_cast<double>(t))}),
                                 {samples, 1});
    alpha = call.emit(Op::where, {lasts, next, alpha});
  }

  // A path ends with the last label or the blank behind it.
  ValueId twice = call.emit(Op::mul, {length, call.scalar(DType::i64, 2)}), one = call.scalar(DType::i64, 1);
  ValueId zero = call.scalar(DType::i64, 0);
  ValueId behind = pick(call, alpha, twice), last = pick(call, alpha, sub(call, twice, one));
  ValueId is_empty = call.emit(Op::eq, {length, zero});
  ValueId all = log_of_sum(call, {behind, call.emit(Op::where, {is_empty, nothing, last})});
  ValueId timeless = call.emit(Op::where, {is_empty, call.scalar(dtype, 0), call.scalar(dtype, INFINITY)});
  return call.emit(Op::where, {call.emit(Op::eq, {steps, zero}), timeless, call.emit(Op::neg, {all})});
}

ValueId loss(Call& call) {
  ValueId log_p = call.tensor("log_probs");
  if (call.rank(log_p) == 2) log_p = call.reshape(log_p, {call.shape(log_p)[0], 1, call.shape(log_p)[1]});
  int64_t most = call.shape(log_p)[0], samples = call.shape(log_p)[1];
  if (most > most_steps)
    refuse(format("ctc_loss over {} steps is not supported: it is written out step by step, {} at most", most,
                  most_steps),
           "leave the loss out of forward: programs compute the model");
  ValueId length = lengths(call, "target_lengths", samples);
  ValueId each = of_samples(call, log_p, lengths(call, "input_lengths", samples), length);
  DType dtype = call.type(each).dtype;
  if (call.flag("zero_infinity", false))
    each = call.emit(Op::where,
                     {call.emit(Op::eq, {each, call.scalar(dtype, INFINITY)}), call.scalar(dtype, 0), each});
  int64_t reduction = call.integer("reduction", 1);
  if (reduction == 2) return call.reduce(Op::sum, each);
  if (reduction == 0) return call.reshape(each, call.output().shape);
  ValueId divisor = call.cast(call.emit(Op::clamp, {length}, {{"low", 1.0}}), dtype);
  return call.reduce(Op::mean, call.emit(Op::div, {each, divisor}));
}

}  // namespace

void fill(AtenTable& table) {
  for (const char* overload : {"IntList", "Tensor"}) table.one(format("aten.ctc_loss.{}", overload), loss);
}

}  // namespace ctc

void add_ctc(AtenTable& table) { ctc::fill(table); }

}  // namespace stitch
