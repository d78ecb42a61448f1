#include "code/loops/reduction.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

namespace {

size_t from_start(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(std::max<size_t>(rank, 1)) : dim);
}

bool all_ones(const std::vector<int64_t>& size) {
  return std::ranges::all_of(size, [](int64_t each) { return each == 1; });
}

}  // namespace

std::optional<Reduction> reduction_of(const Graph& graph, int32_t number) {
  const Node& node = graph.nodes[static_cast<size_t>(number)];
  const Attributes& attributes = node.attributes;
  if (node.operands.empty()) return std::nullopt;
  const Shape& shape = graph.type(node.operands[0]).shape;
  size_t rank = shape.size();
  Reduction out{number, node.operands[0], shape, std::vector<bool>(rank, false)};
  switch (node.op) {
    case Op::softmax:
    case Op::log_softmax:
      if (rank) out.along[from_start(attributes.integer("dim"), rank)] = true;
      return out;
    case Op::layer_norm:
    case Op::rms_norm:
      for (size_t d = rank - static_cast<size_t>(attributes.integer("dims")); d < rank; ++d)
        out.along[d] = true;
      return out;
    case Op::group_norm: {
      int64_t groups = attributes.integer("groups");
      out.space.erase(out.space.begin() + 1);
      out.space.insert(out.space.begin() + 1, {groups, shape[1] / groups});
      out.along.assign(rank + 1, true);
      out.along[0] = out.along[1] = false;
      out.grouped = true;
      return out;
    }
    case Op::batch_norm:
      if (!attributes.flag("training")) return std::nullopt;
      out.along.assign(rank, true);
      out.along[1] = false;
      return out;
    case Op::adaptive_max_pool:
    case Op::adaptive_avg_pool:
      if (!all_ones(attributes.integers("size")) || node.results.size() > 1) return std::nullopt;
      for (size_t d = 2; d < rank; ++d) out.along[d] = true;
      return out;
    default: break;
  }
  if (info(node.op).family != stitch::Family::reduce) return std::nullopt;
  const auto& dims = attributes.integers("dims");
  if (dims.empty()) out.along.assign(rank, true);
  for (int64_t dim : dims)
    if (rank) out.along[from_start(dim, rank)] = true;
  return out;
}

int64_t Reduction::length() const { return element_count(reduced_shape()); }
int64_t Reduction::rows() const { return element_count(kept_shape()); }

Shape Reduction::kept_shape() const {
  Shape out;
  for (size_t d = 0; d < space.size(); ++d)
    if (!along[d]) out.push_back(space[d]);
  return out;
}

Shape Reduction::reduced_shape() const {
  Shape out;
  for (size_t d = 0; d < space.size(); ++d)
    if (along[d]) out.push_back(space[d]);
  return out;
}

Indices Reduction::space_at(const Indices& kept, const Indices& reduced) const {
  Indices out;
  size_t next_kept = 0, next_reduced = 0;
  for (size_t d = 0; d < space.size(); ++d)
    out.push_back(along[d] ? reduced[next_reduced++] : kept[next_kept++]);
  return out;
}

Indices Reduction::operand_at(const Indices& at) const {
  if (!grouped) return at;
  Indices out = at;
  out[1] = at[1] * space[2] + at[2];
  out.erase(out.begin() + 2);
  return out;
}

Indices Reduction::kept_of(const Graph& graph, const Indices& at) const {
  if (grouped) return {at[0], at[1].divided_by(space[2])};
  const Node& of = graph.nodes[static_cast<size_t>(node)];
  if (of.op == Op::batch_norm) return {at.size() == 1 ? at[0] : at[1]};
  if (at.size() != space.size()) return at;  // reduced dimensions are gone
  if (info(of.op).family == stitch::Family::reduce && !of.attributes.flag("keepdim") && !space.empty() &&
      std::ranges::find(along, true) == along.end())
    return at;
  Indices out;
  for (size_t d = 0; d < at.size(); ++d)
    if (!along[d]) out.push_back(at[d]);
  return out;
}

namespace {

// Makes the passes of one reduction.
class SchemeWriter {
 public:
  SchemeWriter(const Graph& graph, const Reduction& reduction, bool single, const NameOf& name_of)
      : node_(graph.nodes[static_cast<size_t>(reduction.node)]),
        dtype_(graph.type(reduction.operand).dtype),
        type_(computed_type(dtype_)),
        length_(reduction.length()),
        single_(single),
        name_of_(name_of),
        base_(graph[node_.results[0]].name) {
    size_ = type_ == "double" || type_ == "int64_t" ? 8 : type_ == "bool" ? 1 : 4;
    write();
  }
  Scheme take() { return std::move(scheme_); }

 private:
  using Finding = Pass::Finding;

  std::string number(double value) const { return literal(value, dtype_); }
  std::string count() const { return number(static_cast<double>(length_)); }
  std::string call(const char* function) const { return call_of(function, dtype_); }
  std::string named(std::string_view what) { return name_of_(what); }
  void found(const std::string& name) { scheme_.findings.push_back(name); }

  // `step`: $acc, $x and $at stand for the accumulator, the element and its place.
  static std::string filled(std::string text, const std::string& acc, const std::string& x,
                            const std::string& at) {
    for (auto& [mark, with] :
         {std::pair<std::string, const std::string&>{"$acc", acc}, {"$at", at}, {"$x", x}})
      for (size_t i = text.find(mark); i != std::string::npos; i = text.find(mark, i + with.size()))
        text.replace(i, mark.size(), with);
    return text;
  }
  void pass(std::string type, int64_t bytes, std::string identity, std::string combine, std::string neutral,
            std::string step, std::vector<Finding> findings) {
    scheme_.passes.push_back({std::move(type), bytes, std::move(identity), std::move(combine),
                              std::move(neutral),
                              [=](const std::string& acc, const std::string& x, const std::string& at) {
                                return filled(step, acc, x, at);
                              },
                              [=](const std::string& acc) {
                                std::vector<Finding> out = findings;
                                for (Finding& each : out) each.text = filled(each.text, acc, {}, {});
                                return out;
                              }});
  }
  // A sum in the computed type, and one finding from it. `neutral`: an element whose term is 0.
  void sum(const std::string& term, const std::string& name, const std::string& result,
           const std::string& neutral) {
    pass(type_, size_, number(0), "stitch::Add()", neutral, "$acc += " + term + ";", {{name, type_, result}});
  }
  void sum(const std::string& term, const std::string& name, const std::string& result) {
    sum(term, name, result, number(0));
  }
  void whole(std::string step, std::string identity, std::string combine) {
    const std::string stored = stored_type(dtype_), name = named(base_);
    std::string neutral = identity;
    pass("uint64_t", 8, std::move(identity), std::move(combine), std::move(neutral), std::move(step),
         {{name, type_, format("stitch::wrapped<{}>(static_cast<int64_t>($acc))", stored)}});
    found(name);
  }
  void extreme(bool largest, const std::string& x, const std::string& name) {
    std::string identity = is_floating(dtype_)        ? number(largest ? -INFINITY : INFINITY)
                           : dtype_ == DType::boolean ? (largest ? "false" : "true")
                           : type_ == "int64_t"       ? (largest ? "INT64_MIN" : "INT64_MAX")
                                                      : (largest ? "INT32_MIN" : "INT32_MAX");
    // |x| is no less than 0: of sizes, nothing is neutral.
    std::string neutral = x == "$x" ? identity : "";
    pass(type_, size_, identity, largest ? "stitch::Maximum()" : "stitch::Minimum()", neutral,
         format("$acc = stitch::{}($acc, {});", largest ? "maximum" : "minimum", x), {{name, type_, "$acc"}});
  }
  void write();
  void position(bool largest);
  void exponentials();
  void norm();
  void moments();

  const Node& node_;
  DType dtype_;
  std::string type_;
  int64_t length_, size_;
  bool single_;
  const NameOf& name_of_;
  std::string base_;
  Scheme scheme_;
};

void SchemeWriter::position(bool largest) {
  std::string type = dtype_ == DType::boolean ? "int" : type_;
  std::string lowest = is_floating(dtype_) ? number(largest ? -INFINITY : INFINITY)
                       : type == "int64_t" ? (largest ? "INT64_MIN" : "INT64_MAX")
                                           : (largest ? "INT32_MIN" : "INT32_MAX");
  std::string full = format("stitch::Extreme<{}, {}>", type, largest), name = named(base_);
  pass(full, 16, format("{}{{{}, INT64_MAX}}", full, lowest), "stitch::Merged()", "", "$acc.add($x, $at);",
       {{name, "int64_t", "$acc.position"}});
  found(name);
}

// softmax, log_softmax and logsumexp.
void SchemeWriter::exponentials() {
  std::string largest = named(base_ + "_largest");
  std::string result = named(node_.op == Op::logsumexp ? base_
                             : node_.op == Op::softmax ? base_ + "_scale"
                                                       : base_ + "_log_sum");
  std::string one = number(1);
  if (single_) {
    std::string full = format("stitch::ExpSum<{}>", type_);
    // An infinite largest element makes every share NaN; the difference below is NaN just then.
    std::string sum = format("($acc.sum + ({0} - {0}))", largest);
    std::string text = node_.op == Op::softmax       ? format("{} / {}", one, sum)
                       : node_.op == Op::log_softmax ? format("{}({})", call("log"), sum)
                                                     : format("{} + {}($acc.sum)", largest, call("log"));
    pass(full, 2 * size_,
         format("{}{{{}, {}}}", full, dtype_ == DType::f64 ? "-1.7976931348623157e308" : "-3.402823466e38f",
                number(0)),
         "stitch::Merged()", number(-INFINITY), "$acc.add($x);",
         {{largest, type_, "$acc.largest"}, {result, type_, text}});
  } else {
    bool shifted = node_.op == Op::logsumexp;
    extreme(true, "$x", largest);
    std::string shift = largest;
    if (shifted) {
      // inf - inf would be NaN.
      shift = named(base_ + "_shift");
      auto before = scheme_.passes.back().finish;
      std::string text =
          format("{}({}) == {} ? {} : {}", call("fabs"), largest, number(INFINITY), number(0), largest);
      scheme_.passes.back().finish = [=, type = type_](const std::string& acc) {
        std::vector<Finding> out = before(acc);
        out.push_back({shift, type, text});
        return out;
      };
    }
    std::string text = node_.op == Op::softmax       ? format("{} / $acc", one)
                       : node_.op == Op::log_softmax ? format("{}($acc)", call("log"))
                                                     : format("{}($acc) + {}", call("log"), shift);
    sum(format("{}($x - {})", call("exp"), shift), result, text, number(-INFINITY));
  }
  if (node_.op != Op::logsumexp) found(largest);
  found(result);
}

void SchemeWriter::norm() {
  double order = node_.attributes.number("order");
  std::string name = named(base_), size = call("fabs") + "($x)";
  found(name);
  if (std::isinf(order)) return extreme(order > 0, size, name);
  if (order == 0) return sum(format("$x != {} ? {} : {}", number(0), number(1), number(0)), name, "$acc");
  if (order == 1) return sum(size, name, "$acc");
  if (order == 2) return sum("$x * $x", name, call("sqrt") + "($acc)");
  sum(format("{}({}, {})", call("pow"), size, number(order)), name,
      format("{}($acc, {})", call("pow"), number(1 / order)), order > 0 ? number(0) : "");
}

// var, layer_norm, group_norm and batch_norm.
void SchemeWriter::moments() {
  bool norm = node_.op != Op::var, batch = node_.op == Op::batch_norm;
  double eps = norm ? node_.attributes.number("eps") : 0;
  double divisor = norm ? static_cast<double>(length_)
                        : std::max(static_cast<double>(length_) - node_.attributes.number("correction"), 0.0);
  std::string mean = named(base_ + "_mean"), variance = named(norm ? base_ + "_variance" : base_);
  std::string scale = norm ? named(base_ + "_scale") : "";
  if (single_) {
    std::string total = literal(static_cast<double>(length_), DType::f64);
    std::vector<Finding> findings;
    if (norm) findings.push_back({mean, type_, format("static_cast<{}>($acc.sum / {})", type_, total)});
    findings.push_back(
        {variance, type_,
         format("static_cast<{}>($acc.spread({}) / {})", type_, total, literal(divisor, DType::f64))});
    if (norm) findings.push_back({scale, type_, format("{}({} + {})", call("rsqrt"), variance, number(eps))});
    pass("stitch::Moments", 16, "stitch::Moments{0.0, 0.0}", "stitch::Merged()", number(0), "$acc.add($x);",
         findings);
  } else {
    sum("$x", mean, "$acc / " + count());
    std::vector<Finding> findings = {{variance, type_, "$acc / " + number(divisor)}};
    if (norm) findings.push_back({scale, type_, format("{}({} + {})", call("rsqrt"), variance, number(eps))});
    pass(type_, size_, number(0), "stitch::Add()", mean, format("$acc += ($x - {0}) * ($x - {0});", mean),
         findings);
  }
  if (norm) found(mean);
  if (norm) found(scale);
  if (!norm || batch) found(variance);
}

void SchemeWriter::write() {
  switch (node_.op) {
    case Op::sum:
      if (!is_floating(dtype_)) return whole("$acc += static_cast<uint64_t>($x);", "0", "stitch::Add()");
      found(named(base_));
      return sum("$x", scheme_.findings[0], "$acc");
    case Op::mean:
    case Op::adaptive_avg_pool:
      found(named(base_));
      return sum("$x", scheme_.findings[0], "$acc / " + count());
    case Op::prod:
      if (!is_floating(dtype_)) return whole("$acc *= static_cast<uint64_t>($x);", "1", "stitch::Multiply()");
      found(named(base_));
      return pass(type_, size_, number(1), "stitch::Multiply()", number(1), "$acc *= $x;",
                  {{scheme_.findings[0], type_, "$acc"}});
    case Op::amax:
    case Op::any:
    case Op::adaptive_max_pool: found(named(base_)); return extreme(true, "$x", scheme_.findings[0]);
    case Op::amin:
    case Op::all: found(named(base_)); return extreme(false, "$x", scheme_.findings[0]);
    case Op::argmax: return position(true);
    case Op::argmin: return position(false);
    case Op::logsumexp:
    case Op::softmax:
    case Op::log_softmax: return exponentials();
    case Op::norm: return norm();
    case Op::rms_norm:
      found(named(base_ + "_scale"));
      return sum(
          "$x * $x", scheme_.findings[0],
          format("{}($acc / {} + {})", call("rsqrt"), count(), number(node_.attributes.number("eps"))));
    default: return moments();
  }
}

}  // namespace

Scheme scheme_of(const Graph& graph, const Reduction& reduction, bool single, const NameOf& name_of) {
  return SchemeWriter(graph, reduction, single, name_of).take();
}

std::vector<std::string> finding_types(const Graph& graph, const Reduction& reduction) {
  const Node& node = graph.nodes[static_cast<size_t>(reduction.node)];
  std::string type = computed_type(graph.type(reduction.operand).dtype);
  switch (node.op) {
    case Op::argmax:
    case Op::argmin: return {"int64_t"};
    case Op::softmax:
    case Op::log_softmax:
    case Op::layer_norm:
    case Op::group_norm: return {type, type};
    case Op::batch_norm: return {type, type, type};
    default: return {type};
  }
}

}  // namespace stitch::code::loops
