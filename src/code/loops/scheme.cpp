// The passes of each reduction over a row, and its statistics.
#include <cmath>

#include "base/format.h"
#include "code/expression/pointwise.h"
#include "code/loops/reduction.h"

namespace stitch::code::loops {

namespace {

const char *adding = "stitch::Add", *multiplying = "stitch::Multiply", *merging = "stitch::Merged";

class SchemeWriter {
 public:
  SchemeWriter(const Graph& graph, const Reduction& reduction, bool single, const NameOf& name_of)
      : node_(graph.node(reduction.node)),
        dtype_(graph.type(reduction.operand).dtype),
        type_(computed_type(dtype_)),
        length_(reduction.length()),
        single_(single),
        named_(name_of),
        base_(graph[node_.results[0]].name) {
    write();
  }
  Scheme take() { return std::move(scheme_); }

 private:
  using Statistic = Pass::Statistic;
  using Of = std::function<Expression(const Expression&)>;

  Expression real(double value) const { return number(value, dtype_); }
  Expression count() const { return real(static_cast<double>(length_)); }
  Expression standard(const char* function, const Expression& x) const {
    return standard_call(function, dtype_, {x});
  }
  void found(const std::string& name) { scheme_.statistics.push_back(named(name)); }

  static Expression itself(const Expression& x) { return x; }
  // acc += term(x), and one statistic from it. `neutral`: an element whose term is 0.
  void sum(const Of& term, const std::string& name, const Of& result, const Expression& neutral) {
    scheme_.passes.push_back({type_, real(0), adding, neutral,
                              [=](const Expression& acc, const Expression& x, const Expression&) {
                                return assign(acc, term(x), Operator::add);
                              },
                              [=, type = type_](const Expression& acc) {
                                return std::vector<Statistic>{{name, type, result(acc)}};
                              }});
  }
  void sum(const Of& term, const std::string& name, const Of& result) { sum(term, name, result, real(0)); }
  // acc.add(x).
  void gathered(const char* accumulator, const Type& type, const Expression& identity,
                const Expression& neutral, std::function<std::vector<Statistic>(const Expression&)> finish) {
    scheme_.passes.push_back({type, identity, merging, neutral,
                              [](const Expression& acc, const Expression& x, const Expression&) {
                                return evaluate(method(acc, "add", {x}));
                              },
                              std::move(finish), accumulator});
  }
  // Sums and products of integers wrap, in 64 bits.
  void whole(Operator op, int64_t identity, const char* combine) {
    const std::string name = named_(base_), back = format("stitch::wrapped<{}>", stored_type(dtype_).name);
    scheme_.passes.push_back(
        {uint64_type, identity, combine, identity,
         [=](const Expression& acc, const Expression& x, const Expression&) {
           return assign(acc, static_cast_to(uint64_type, x), op);
         },
         [=, type = type_](const Expression& acc) {
           return std::vector<Statistic>{{name, type, call(back, {static_cast_to(int64_type, acc)})}};
         },
         op == Operator::add ? "sum" : "product"});
    found(name);
  }
  void extreme(bool largest, const std::string& name, const Of& of = {}) {
    const Expression identity = extreme_of(dtype_, largest);
    const char* function = largest ? "stitch::maximum" : "stitch::minimum";
    // For |x| no element is neutral.
    scheme_.passes.push_back({type_, identity, largest ? "stitch::Maximum" : "stitch::Minimum",
                              of ? Expression() : identity,
                              [=](const Expression& acc, const Expression& x, const Expression&) {
                                return assign(acc, call(function, {acc, of ? of(x) : x}));
                              },
                              [=, type = type_](const Expression& acc) {
                                return std::vector<Statistic>{{name, type, acc}};
                              },
                              largest ? "max" : "min"});
  }
  void write();
  void position(bool largest);
  void exponentials();
  void exponentials_at_once(const std::string& largest, const std::string& result);
  void exponentials_by_passes(const std::string& largest, const std::string& result);
  void norm();
  void moments();

  const Node& node_;
  DType dtype_;
  Type type_;
  int64_t length_;
  bool single_;
  const NameOf& named_;
  std::string base_;
  Scheme scheme_;
};

void SchemeWriter::position(bool largest) {
  const Type type = dtype_ == DType::boolean ? int_type : type_;
  const Expression lowest = extreme_of(dtype_ == DType::boolean ? DType::i32 : dtype_, largest);
  const Type full{format("stitch::Extreme<{}, {}>", type.name, largest), 16};
  const std::string name = named_(base_);
  scheme_.passes.push_back({full,
                            braced(full.name, {lowest, named("INT64_MAX")}),
                            merging,
                            {},
                            [](const Expression& acc, const Expression& x, const Expression& at) {
                              return evaluate(method(acc, "add", {x, at}));
                            },
                            [=](const Expression& acc) {
                              return std::vector<Statistic>{{name, int64_type, member(acc, "position")}};
                            },
                            largest ? "argmax" : "argmin"});
  found(name);
}

// softmax, log_softmax and logsumexp.
void SchemeWriter::exponentials() {
  const std::string largest = named_(base_ + "_max");
  const std::string result = named_(node_.op == Op::logsumexp ? base_
                                    : node_.op == Op::softmax ? base_ + "_scale"
                                                              : base_ + "_log_sum");
  if (single_)
    exponentials_at_once(largest, result);
  else
    exponentials_by_passes(largest, result);
  if (node_.op != Op::logsumexp) found(largest);
  found(result);
}

void SchemeWriter::exponentials_at_once(const std::string& largest, const std::string& result) {
  const Type full{format("stitch::ExpSum<{}>", type_.name), 2 * type_.bytes};
  const Expression lowest = dtype_ == DType::f64 ? number(-1.7976931348623157e308, DType::f64)
                                                 : number(-3.402823466e38, DType::f32);
  const Expression most = named(largest);
  auto finish = [result, largest, most, op = node_.op, type = type_, one = real(1),
                 dtype = dtype_](const Expression& acc) {
    const Expression plain = member(acc, "sum");
    // An infinite maximum makes every result NaN; this difference is NaN exactly then.
    const Expression sum = plain + (most - most);
    auto log = [&](const Expression& x) { return standard_call("log", dtype, {x}); };
    const Expression value = op == Op::softmax       ? one / sum
                             : op == Op::log_softmax ? log(sum)
                                                     : most + log(plain);
    return std::vector<Statistic>{{largest, type, member(acc, "largest")}, {result, type, value}};
  };
  gathered("exp_sum", full, braced(full.name, {lowest, real(0)}), real(-INFINITY), finish);
}

void SchemeWriter::exponentials_by_passes(const std::string& largest, const std::string& result) {
  extreme(true, largest);
  const Expression most = named(largest);
  Expression shift = most;
  if (node_.op == Op::logsumexp) {
    // inf - inf would be NaN.
    shift = named(named_(base_ + "_shift"));
    const Expression value = select(standard("fabs", most) == real(INFINITY), real(0), most);
    auto before = scheme_.passes.back().finish;
    scheme_.passes.back().finish = [=, type = type_](const Expression& acc) {
      std::vector<Statistic> out = before(acc);
      out.push_back({shift->name, type, value});
      return out;
    };
  }
  sum(
      itself, result,
      [=, op = node_.op, one = real(1), dtype = dtype_](const Expression& acc) {
        if (op == Op::softmax) return one / acc;
        const Expression log = standard_call("log", dtype, {acc});
        return op == Op::log_softmax ? log : log + shift;
      },
      real(-INFINITY));
  scheme_.passes.back().name = "exp_sum";
  scheme_.passes.back().term = [=, dtype = dtype_](const Expression& x) {
    return standard_call("exp", dtype, {x - shift});
  };
}

void SchemeWriter::norm() {
  const double order = node_.attributes.number("order");
  const std::string name = named_(base_);
  const Of size = [dtype = dtype_](const Expression& x) { return standard_call("fabs", dtype, {x}); };
  found(name);
  if (std::isinf(order)) return extreme(order > 0, name, size);
  if (order == 0)
    return sum([zero = real(0), one = real(1)](const Expression& x) { return select(x != zero, one, zero); },
               name, itself);
  if (order == 1) return sum(size, name, itself);
  if (order == 2)
    return sum([](const Expression& x) { return x * x; }, name,
               [dtype = dtype_](const Expression& acc) { return standard_call("sqrt", dtype, {acc}); });
  auto power = [dtype = dtype_](double exponent) {
    return [=](const Expression& x) { return standard_call("pow", dtype, {x, number(exponent, dtype)}); };
  };
  sum([=, raise = power(order)](const Expression& x) { return raise(size(x)); }, name, power(1 / order),
      order > 0 ? real(0) : Expression());
}

// var, layer_norm, group_norm and batch_norm.
void SchemeWriter::moments() {
  const bool norm = node_.op != Op::var, batch = node_.op == Op::batch_norm;
  const double eps = norm ? node_.attributes.number("eps") : 0;
  const double divisor =
      norm ? static_cast<double>(length_)
           : std::max(static_cast<double>(length_) - node_.attributes.number("correction"), 0.0);
  const std::string mean = named_(base_ + "_mean"), variance = named_(norm ? base_ + "_variance" : base_);
  const std::string scale = norm ? named_(base_ + "_scale") : "";
  // Statistics from the variance.
  auto concluded = [=, type = type_, small = real(eps), dtype = dtype_](const Expression& spread) {
    std::vector<Statistic> out = {{variance, type, spread}};
    if (norm) out.push_back({scale, type, standard_call("rsqrt", dtype, {named(variance) + small})});
    return out;
  };
  if (single_) {
    const Expression total = number(static_cast<double>(length_), DType::f64);
    gathered("moments", {"stitch::Moments", 16},
             braced("stitch::Moments", {number(0, DType::f64), number(0, DType::f64)}), real(0),
             [=, type = type_](const Expression& acc) {
               std::vector<Statistic> out = concluded(
                   static_cast_to(type, method(acc, "spread", {total}) / number(divisor, DType::f64)));
               if (norm)
                 out.insert(out.begin(), {mean, type, static_cast_to(type, member(acc, "sum") / total)});
               return out;
             });
    if (dtype_ != DType::f64) {
      scheme_.passes.back().few = {"stitch::FewMoments", 8};
      scheme_.passes.back().no_few = braced("stitch::FewMoments", {real(0), real(0)});
    }
  } else {
    const Expression middle = named(mean);
    sum(itself, mean, [n = count()](const Expression& acc) { return acc / n; });
    sum([=](const Expression& x) { return (x - middle) * (x - middle); }, variance, itself, middle);
    scheme_.passes.back().name = "squares";
    scheme_.passes.back().finish = [=, by = real(divisor)](const Expression& acc) {
      return concluded(acc / by);
    };
  }
  if (norm) found(mean);
  if (norm) found(scale);
  if (!norm || batch) found(variance);
}

void SchemeWriter::write() {
  const bool floating = is_floating(dtype_);
  switch (node_.op) {
    case Op::logsumexp:
    case Op::softmax:
    case Op::log_softmax: return exponentials();
    case Op::norm: return norm();
    case Op::argmax: return position(true);
    case Op::argmin: return position(false);
    case Op::sum:
      if (!floating) return whole(Operator::add, 0, adding);
      break;
    case Op::prod:
      if (!floating) return whole(Operator::multiply, 1, multiplying);
      break;
    case Op::mean:
    case Op::adaptive_avg_pool:
    case Op::amax:
    case Op::any:
    case Op::adaptive_max_pool:
    case Op::amin:
    case Op::all:
    case Op::rms_norm: break;
    default: return moments();
  }
  const std::string name = named_(node_.op == Op::rms_norm ? base_ + "_scale" : base_);
  found(name);
  switch (node_.op) {
    case Op::sum: return sum(itself, name, itself);
    case Op::mean:
    case Op::adaptive_avg_pool:
      return sum(itself, name, [n = count()](const Expression& acc) { return acc / n; });
    case Op::prod:
      sum(itself, name, itself);
      scheme_.passes[0].identity = scheme_.passes[0].neutral = real(1);
      scheme_.passes[0].combine = multiplying;
      scheme_.passes[0].name = "product";
      scheme_.passes[0].step = [](const Expression& acc, const Expression& x, const Expression&) {
        return assign(acc, x, Operator::multiply);
      };
      return;
    case Op::rms_norm:
      return sum([](const Expression& x) { return x * x; }, name,
                 [n = count(), eps = real(node_.attributes.number("eps")), dtype = dtype_](
                     const Expression& acc) { return standard_call("rsqrt", dtype, {acc / n + eps}); });
    case Op::amin:
    case Op::all: return extreme(false, name);
    default: return extreme(true, name);
  }
}

}  // namespace

Scheme scheme_of(const Graph& graph, const Reduction& reduction, bool single, const NameOf& name_of) {
  return SchemeWriter(graph, reduction, single, name_of).take();
}

std::vector<Type> statistic_types(const Graph& graph, const Reduction& reduction) {
  const Node& node = graph.node(reduction.node);
  const Type type = computed_type(graph.type(reduction.operand).dtype);
  switch (node.op) {
    case Op::argmax:
    case Op::argmin: return {int64_type};
    case Op::softmax:
    case Op::log_softmax:
    case Op::layer_norm:
    case Op::group_norm: return {type, type};
    case Op::batch_norm: return {type, type, type};
    default: return {type};
  }
}

Expression extreme_of(DType dtype, bool lowest) {
  if (is_floating(dtype)) return number(lowest ? -INFINITY : INFINITY, dtype);
  if (dtype == DType::boolean) return number(lowest ? 0 : 1, dtype);
  if (dtype == DType::i64) return named(lowest ? "INT64_MIN" : "INT64_MAX");
  return named(lowest ? "INT32_MIN" : "INT32_MAX");
}

}  // namespace stitch::code::loops
