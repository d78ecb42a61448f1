// Elements that belong to groups: embedding bags, histograms, the products of mixtures of experts; and draws.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "import/aten/table.h"

namespace stitch {

namespace groups {

namespace {

ValueId count(Call& call, int64_t size) {
  return call.emit(Op::iota, {}, {{"size", size}, {"dtype", DType::i64}});
}
ValueId column(Call& call, ValueId x) {
  Shape shape = call.shape(x);
  shape.push_back(1);
  return call.reshape(x, shape);
}

// Is it 0, step, 2 step, …?
std::optional<int64_t> even_steps(Call& call, ValueId x) {
  const Node* node = call.lowering().producer(x);
  while (node && node->op == Op::reshape) node = call.lowering().producer(node->operands[0]);
  if (!node || node->op != Op::iota || node->attributes.number("start") != 0) return std::nullopt;
  double step = node->attributes.number("step");
  return step >= 1 ? std::optional(static_cast<int64_t>(step)) : std::nullopt;
}

struct Bags {
  int64_t number;
  bool even;        // all of the same size: (number, size, width) is reduced along the middle
  ValueId of_each;  // else: the bag of every element
};

Bags bags_of(Call& call, int64_t elements) {
  ValueId offsets = call.cast(call.tensor("offsets"), DType::i64);
  int64_t number = call.output().shape[0];
  auto step = even_steps(call, offsets);
  if (step && *step * number == elements && number > 0) return {number, true, ValueId::none};
  offsets = call.slice(offsets, 0, 0, number);
  ValueId behind = call.emit(Op::searchsorted, {offsets, count(call, elements)}, {{"right", true}});
  return {number, false, call.emit(Op::sub, {behind, call.scalar(DType::i64, 1)})};
}

// Elements (n, width) reduced into their bags (number, width).
ValueId into_bags(Call& call, const Bags& bags, ValueId rows, const std::string& reduce) {
  int64_t n = call.shape(rows)[0], width = call.shape(rows)[1];
  if (bags.even) {
    ValueId apart = call.reshape(rows, {bags.number, n / bags.number, width});
    return call.reduce(reduce == "sum" ? Op::sum : Op::amax, apart, {1});
  }
  ValueId empty = call.full({bags.number, width}, call.type(rows).dtype, 0);
  ValueId at = call.expand(column(call, bags.of_each), {n, width});
  return call.emit(Op::scatter, {empty, at, rows},
                   {{"dim", int64_t{0}}, {"reduce", reduce}, {"include_self", reduce == "sum"}});
}

ValueId embedding_bag(Call& call) {
  ValueId table = call.tensor("weight"), indices = call.tensor("indices");
  DType dtype = call.type(table).dtype;
  int64_t n = call.shape(indices)[0], mode = call.integer("mode", 0),
          padding = call.integer("padding_idx", -1);
  if (padding < 0 && call.has("padding_idx") && padding != -1) padding += call.shape(table)[0];
  Bags bags = bags_of(call, n);
  ValueId rows = call.emit(Op::index, {table, indices}, {{"dims", std::vector<int64_t>{0}}});
  if (call.has("per_sample_weights"))
    rows = call.emit(Op::mul, {rows, column(call, call.cast(call.tensor("per_sample_weights"), dtype))});
  ValueId kept = call.full({n, 1}, dtype, 1);
  if (padding >= 0) {
    ValueId real = call.emit(Op::ne, {indices, call.whole_scalar(call.type(indices).dtype, padding)});
    kept = column(call, call.cast(real, dtype));
    rows = call.emit(Op::where, {column(call, real), rows, call.scalar(dtype, mode == 2 ? -INFINITY : 0)});
  }
  if (mode == 0) return into_bags(call, bags, rows, "sum");
  ValueId sizes = into_bags(call, bags, kept, "sum");
  ValueId none = call.emit(Op::eq, {sizes, call.scalar(dtype, 0)});
  if (mode == 2) {
    ValueId largest = into_bags(call, bags, rows, "amax");
    return call.emit(Op::where, {none, call.scalar(dtype, 0), largest});
  }
  ValueId divisor = call.emit(Op::where, {none, call.scalar(dtype, 1), sizes});
  return call.emit(Op::div, {into_bags(call, bags, rows, "sum"), divisor});
}

// How many elements fall into each of `bins` equal parts of [low, high]; what is outside, and NaN, in none.
ValueId histogram(Call& call) {
  ValueId x = call.tensor("self");
  DType dtype = call.output().dtype;
  int64_t n = call.type(x).elements(), bins = call.integer("bins", 100);
  x = call.cast(call.reshape(x, {n}), dtype);
  if (!is_floating(dtype))
    refuse("torch.histc of integers is not supported", "convert them: torch.histc(x.float(), …)");
  double low = call.number("min", 0), high = call.number("max", 0);
  ValueId from = call.scalar(dtype, low), to = call.scalar(dtype, high);
  if (low == high && n > 0) {
    ValueId least = call.reduce(Op::amin, x), most = call.reduce(Op::amax, x), one = call.scalar(dtype, 1);
    ValueId same = call.emit(Op::eq, {least, most});
    from = call.emit(Op::where, {same, call.emit(Op::sub, {least, one}), least});
    to = call.emit(Op::where, {same, call.emit(Op::add, {most, one}), most});
  }
  ValueId inside = call.emit(Op::logical_and, {call.emit(Op::ge, {x, from}), call.emit(Op::le, {x, to})});
  ValueId place = call.emit(
      Op::div,
      {call.emit(Op::mul, {call.emit(Op::sub, {x, from}), call.scalar(dtype, static_cast<double>(bins))}),
       call.emit(Op::sub, {to, from})});
  // NaN and what is outside is counted into the last bin, as nothing.
  place = call.emit(Op::where, {inside, place, call.scalar(dtype, 0)});
  ValueId bin = call.emit(Op::clamp, {call.cast(place, DType::i64)},
                          {{"low", 0.0}, {"high", static_cast<double>(bins - 1)}});
  return call.emit(Op::scatter, {call.full({bins}, dtype, 0), bin, call.cast(inside, dtype)},
                   {{"dim", int64_t{0}}, {"reduce", std::string("sum")}});
}

// Between which integers all elements are, as far as the graph alone says it.
struct Interval {
  double low = -INFINITY, high = INFINITY;
};

Interval known_interval(Call& call, ValueId x) {
  const Node* node = call.lowering().producer(x);
  if (!node) return {};
  auto of = [&](size_t operand) { return known_interval(call, node->operands[operand]); };
  auto positions = [&](int64_t dim) {
    const Shape& shape = call.shape(node->operands[0]);
    return Interval{
        0, static_cast<double>(shape[static_cast<size_t>(call.dimension(dim, std::ssize(shape)))] - 1)};
  };
  switch (node->op) {
    case Op::reshape:
    case Op::permute:
    case Op::expand:
    case Op::slice:
    case Op::flip:
    case Op::gather:
    case Op::index: return of(0);
    case Op::full: return {node->attributes.number("value"), node->attributes.number("value")};
    case Op::cast: {
      DType from = call.type(node->operands[0]).dtype;
      if (from == DType::boolean) return {0, 1};
      if (from == DType::u8) return {0, 255};
      return is_floating(from) ? Interval{} : of(0);
    }
    case Op::argmax:
    case Op::argmin: {
      const auto& dims = node->attributes.integers("dims");
      if (dims.size() == 1) return positions(dims[0]);
      return {0, static_cast<double>(call.type(node->operands[0]).elements() - 1)};
    }
    case Op::sort:
    case Op::topk: return x == node->results[1] ? positions(node->attributes.integer("dim")) : Interval{};
    case Op::clamp: {
      Interval in = of(0);
      return {std::max(in.low, node->attributes.number("low")),
              std::min(in.high, node->attributes.number("high"))};
    }
    case Op::maximum: return {std::max(of(0).low, of(1).low), std::max(of(0).high, of(1).high)};
    case Op::minimum: return {std::min(of(0).low, of(1).low), std::min(of(0).high, of(1).high)};
    default: return {};
  }
}

// As long as minlength: the exporter knows no other length (python/stitchcuda_torch/export/unread.py).
ValueId counts(Call& call) {
  ValueId x = call.tensor("self");
  int64_t n = call.type(x).elements(), length = call.integer("minlength");
  const Interval known = known_interval(call, x);
  if (known.low < 0 || known.high >= static_cast<double>(length))
    refuse(format("torch.bincount may need more than {} counts: the length depends on the data", length),
           format("torch.bincount(x.clamp(0, {}), minlength={})", length - 1, length));
  DType dtype = call.output().dtype;
  ValueId each = call.has("weights") ? call.cast(call.tensor("weights"), dtype) : call.full({n}, dtype, 1);
  return call.emit(Op::scatter, {call.full({length}, dtype, 0), call.cast(x, DType::i64), each},
                   {{"dim", int64_t{0}}, {"reduce", std::string("sum")}});
}

// The products of groups: rows, columns or the depth may be cut at the offsets.
ValueId grouped_product(Call& call, ValueId a, ValueId b, ValueId offsets, DType dtype) {
  auto finished = [&](ValueId y) { return call.cast(y, dtype); };
  if (call.rank(a) == 3 && call.rank(b) == 3) return finished(call.emit(Op::matmul, {a, b}));
  if (offsets == ValueId::none) refuse("a grouped product of matrices needs offsets");
  if (call.rank(a) == 2 && call.rank(b) == 3) return finished(call.emit(Op::grouped_matmul, {a, b, offsets}));
  if (call.rank(a) == 3)
    return finished(
        call.swap_last(call.emit(Op::grouped_matmul, {call.swap_last(b), call.swap_last(a), offsets})));
  // Cut along the depth: a group's product sees its own part of a.
  int64_t depth = call.shape(a)[1], number = call.shape(offsets)[0];
  ValueId of_each =
      call.emit(Op::searchsorted, {call.cast(offsets, DType::i64), count(call, depth)}, {{"right", true}});
  ValueId own = call.cast(call.emit(Op::eq, {call.reshape(count(call, number), {number, 1, 1}), of_each}),
                          call.type(a).dtype);
  return finished(call.emit(Op::matmul, {call.emit(Op::mul, {a, own}), b}));
}

ValueId grouped_mm(Call& call) {
  ValueId y = grouped_product(call, call.tensor("self"), call.tensor("mat2"), call.tensor_or_none("offs"),
                              call.output().dtype);
  if (call.has("bias")) refuse("a grouped product with a bias is not supported", "add the bias behind it");
  return y;
}

ValueId integer_product(Call& call) {
  return call.emit(Op::matmul,
                   {call.cast(call.tensor("self"), DType::i32), call.cast(call.tensor("mat2"), DType::i32)});
}

// x rounded to whole steps of scale within [low, high], and back.
ValueId quantized(Call& call, ValueId scale, ValueId inverse, ValueId zero) {
  ValueId x = call.tensor("self");
  DType dtype = call.type(x).dtype;
  double low = static_cast<double>(call.integer("quant_min")),
         high = static_cast<double>(call.integer("quant_max"));
  ValueId steps = call.emit(Op::add, {call.emit(Op::round, {call.emit(Op::mul, {x, inverse})}), zero});
  steps = call.emit(Op::clamp, {steps}, {{"low", low}, {"high", high}});
  return call.cast(call.emit(Op::mul, {call.emit(Op::sub, {steps, zero}), scale}), dtype);
}

ValueId quantized_by_tensor(Call& call) {
  DType dtype = call.type(call.tensor("self")).dtype;
  auto single = [&](const char* name) {
    return call.is_tensor(name) ? call.reshape(call.operand(name, dtype), {}) : call.operand(name, dtype);
  };
  ValueId zero = single("zero_point");
  if (call.is_tensor("scale")) {
    ValueId scale = single("scale");
    return quantized(call, scale, call.emit(Op::reciprocal, {scale}), zero);
  }
  // A number for a scale is a float to PyTorch, whatever the tensor's dtype.
  float scale = static_cast<float>(call.number("scale"));
  return quantized(call, call.scalar(dtype, scale), call.scalar(dtype, 1.0f / scale), zero);
}

ValueId quantized_by_channel(Call& call) {
  ValueId x = call.tensor("self");
  Shape shape(call.shape(x).size(), 1);
  int64_t axis = call.dimension(call.integer("axis"), call.rank(x));
  shape[static_cast<size_t>(axis)] = call.shape(x)[static_cast<size_t>(axis)];
  auto channel = [&](const char* name) {
    return call.reshape(call.operand(name, call.type(x).dtype), shape);
  };
  ValueId scale = channel("scale");
  return quantized(call, scale, call.emit(Op::reciprocal, {scale}), channel("zero_point"));
}

ValueId exponential_draw(Call& call, const Shape& shape, DType dtype) {
  ValueId u = call.random(shape, dtype, "uniform", 0, 1);
  return call.emit(Op::neg, {call.emit(Op::log1p, {call.emit(Op::neg, {u})})});
}

// Without replacement, those with the largest p / Exp(1); with it, where a uniform number falls.
ValueId multinomial(Call& call) {
  ValueId p = call.tensor("self");
  DType dtype = call.type(p).dtype;
  int64_t draws = call.integer("num_samples"), classes = call.shape(p).back();
  Shape rows = call.shape(p);
  if (rows.size() == 1) rows.insert(rows.begin(), 1);
  p = call.reshape(p, rows);
  if (!call.flag("replacement", false)) {
    ValueId keys = call.emit(Op::div, {p, exponential_draw(call, rows, dtype)});
    return call.reshape(call.emit_all(Op::topk, {keys}, {{"k", draws}, {"dim", int64_t{1}}})[1],
                        call.output().shape);
  }
  ValueId edges = call.emit(Op::cumsum, {p}, {{"dim", int64_t{1}}});
  ValueId total = call.slice(edges, 1, classes - 1, classes);
  ValueId u = call.emit(Op::mul, {call.random({rows[0], draws}, dtype, "uniform", 0, 1), total});
  ValueId found = call.emit(Op::searchsorted, {edges, u}, {{"right", true}});
  found = call.emit(Op::clamp, {found}, {{"low", 0.0}, {"high", static_cast<double>(classes - 1)}});
  return call.reshape(found, call.output().shape);
}

// The elements of source one after the other where the mask is true.
ValueId masked_scatter(Call& call) {
  ValueId x = call.tensor("self"), source = call.tensor("source");
  const Shape shape = call.output().shape;
  int64_t n = element_count(shape);
  ValueId mask = call.reshape(call.expand(call.cast(call.tensor("mask"), DType::boolean), shape), {n});
  ValueId rank = call.emit(Op::cumsum, {call.cast(mask, DType::i64)}, {{"dim", int64_t{0}}});
  ValueId place = call.emit(Op::clamp, {call.emit(Op::sub, {rank, call.scalar(DType::i64, 1)})},
                            {{"low", 0.0}, {"high", static_cast<double>(call.type(source).elements() - 1)}});
  ValueId taken = call.emit(Op::index, {call.reshape(source, {call.type(source).elements()}), place},
                            {{"dims", std::vector<int64_t>{0}}});
  return call.reshape(call.emit(Op::where, {mask, taken, call.reshape(call.expand(x, shape), {n})}), shape);
}

// Dropped elements become the value that SELU saturates at, and all are rescaled to variance 1.
ValueId alpha_dropout(Call& call, bool features) {
  ValueId x = call.tensor("input");
  double p = call.number("p");
  DType dtype = call.type(x).dtype;
  if (!call.flag("train") || p == 0) return x;
  if (p == 1) return call.emit(Op::mul, {x, call.scalar(dtype, 0)});
  constexpr double alpha = 1.7580993408473766;
  double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  Shape shape = call.shape(x);
  if (features)
    for (size_t i = 2; i < shape.size(); ++i) shape[i] = 1;
  ValueId kept = call.random(shape, dtype, "bernoulli", 1 - p, 0);
  ValueId dropped = call.emit(Op::sub, {kept, call.scalar(dtype, 1)});
  ValueId shift = call.emit(Op::add, {call.emit(Op::mul, {dropped, call.scalar(dtype, alpha * a)}),
                                      call.scalar(dtype, alpha * a * p)});
  return call.emit(Op::add,
                   {call.emit(Op::mul, {x, call.emit(Op::mul, {kept, call.scalar(dtype, a)})}), shift});
}

}  // namespace

void fill(AtenTable& table) {
  for (const char* name : {"embedding_bag.padding_idx", "embedding_bag.default", "_embedding_bag.default",
                           "_embedding_bag_forward_only.default"})
    table.one(format("aten.{}", name), embedding_bag);
  table.one("aten.histc.default", histogram);
  table.one("aten.bincount.default", counts);
  for (const char* name : {"_grouped_mm", "grouped_mm"})
    table.one(format("aten.{}.default", name), grouped_mm);
  table.one("transformers.grouped_mm_fallback.default", [](Call& call) {
    return grouped_product(call, call.tensor("input"), call.tensor("weight"), call.tensor("offs"),
                           call.output().dtype);
  });
  table.one("aten._int_mm.default", integer_product);
  table.one("aten.fake_quantize_per_tensor_affine.default", quantized_by_tensor);
  table.one("aten.fake_quantize_per_tensor_affine.tensor_qparams", quantized_by_tensor);
  table.one("aten.fake_quantize_per_channel_affine.default", quantized_by_channel);
  table.one("aten.multinomial.default", multinomial);
  table.one("aten.exponential.default", [](Call& call) {
    ValueId draw = exponential_draw(call, call.output().shape, call.output().dtype);
    return call.emit(Op::mul, {draw, call.scalar(call.output().dtype, 1 / call.number("lambd", 1))});
  });
  table.one("aten.randperm.default", [](Call& call) {
    ValueId keys = call.random(call.output().shape, DType::f64, "uniform", 0, 1);
    return call.cast(call.emit_all(Op::sort, {keys}, {{"dim", int64_t{0}}})[1], call.output().dtype);
  });
  table.one("aten.masked_scatter.default", masked_scatter);
  table.one("aten.alpha_dropout.default", [](Call& call) { return alpha_dropout(call, false); });
  table.one("aten.feature_alpha_dropout.default", [](Call& call) { return alpha_dropout(call, true); });
}

}  // namespace groups

void add_groups(AtenTable& table) { groups::fill(table); }

}  // namespace stitch
