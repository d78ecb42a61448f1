// scatter and index_put seen from their results: each element looks for the sources that name it, in the
// order in which they would be written. Deterministic, and the last one wins where that is what is asked.
#include <algorithm>

#include "base/format.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

std::string Emitter::scattered(ValueId id, const Node& node, const Indices& at) {
  bool put = node.op == Op::index_put;
  ValueId x = node.operands[0];
  const Shape& shape = graph().type(x).shape;
  DType dtype = graph().type(id).dtype;
  const Attributes& attributes = node.attributes;
  std::string reduce = put ? (attributes.flag("accumulate") ? "sum" : "none") : attributes.text("reduce");
  bool include_self = put || reduce == "none" || attributes.flag("include_self");
  std::string type = type_of(id), name = variable(id, value(x, at)), count;
  if (!include_self || reduce == "mean") {
    count = names_.unique("sources");
    line(format("int {} = 0;", count));
  }
  int open = 0;
  std::string source;
  if (put) {
    const auto& dims = attributes.integers("dims");
    Shape common;
    for (size_t i = 2; i < node.operands.size(); ++i)
      common = *broadcast(common, graph().type(node.operands[i]).shape);
    if (element_count(common) == 0) return name;
    Indices place;
    for (int64_t size : common) place.push_back(open_loop("k", "0", std::to_string(size), 1, size));
    open = static_cast<int>(common.size());
    std::string condition;
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t dim = static_cast<size_t>(dims[i]);
      std::string found = value(node.operands[i + 2], broadcast_to(node.operands[i + 2], place));
      condition += format("{0}({1} < 0 ? {1} + {2} : {1}) == {3}", condition.empty() ? "" : " && ", found,
                          shape[dim], at[dim].text());
    }
    guard(condition);
    // The place of this source in the indexed shape: the common part, and the dimensions that aren't indexed.
    bool neighbours = dims.back() - dims.front() + 1 == std::ssize(dims);
    Indices from;
    if (!neighbours) from = place;
    for (int64_t d = 0; d < std::ssize(shape); ++d) {
      if (neighbours && d == dims.front()) from.insert(from.end(), place.begin(), place.end());
      if (std::ranges::find(dims, d) == dims.end()) from.push_back(at[static_cast<size_t>(d)]);
    }
    source = value(node.operands[1], broadcast_to(node.operands[1], from));
  } else {
    ValueId index = node.operands[1];
    const Shape& indexed = graph().type(index).shape;
    if (graph().type(index).elements() == 0) return name;
    int64_t d = attributes.integer("dim");
    size_t dim = static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(std::max<size_t>(shape.size(), 1)) : d);
    Indices from = at;
    std::string inside;
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != dim && indexed[i] < shape[i])
        inside += format("{}{} < {}", inside.empty() ? "" : " && ", at[i].text(), indexed[i]);
    if (!inside.empty()) guard(inside), ++open;
    if (!shape.empty()) {
      from[dim] = open_loop("k", "0", std::to_string(indexed[dim]), 1, indexed[dim]);
      ++open;
    }
    std::string found = value(index, from);
    guard(shape.empty() ? "true" : format("{} == {}", found, at[dim].text()));
    source = value(node.operands[2], from);
  }
  std::string joined;
  if (reduce == "none")
    joined = source;
  else if (reduce == "amax" || reduce == "amin")
    joined = format("stitch::{}({}, {})", reduce == "amax" ? "maximum" : "minimum", name, source);
  else if (is_floating(dtype))
    joined = format("{} {} {}", name, reduce == "prod" ? "*" : "+", source);
  else if (dtype == DType::boolean)
    joined = format("{} {} {}", name, reduce == "prod" ? "&&" : "||", source);
  else
    joined = format("stitch::wrapped_{}<{}>({}, {})", reduce == "prod" ? "mul" : "add", stored_type(dtype),
                    name, source);
  if (!include_self)
    line(format("{} = {} == 0 ? {} : {};", name, count, source, joined));
  else
    line(format("{} = {};", name, joined));
  if (!count.empty()) line(format("++{};", count));
  close();
  for (; open > 0; --open) close();
  if (reduce == "mean") {
    std::string number = include_self ? format("({} + 1)", count) : count;
    std::string mean = is_floating(dtype) ? format("{} / static_cast<{}>({})", name, type, number)
                                          : format("static_cast<{}>(stitch::integer_floor_divide({}, {}))",
                                                   type, name, number);
    line(format("if ({} > 0) {} = {};", count, name, mean));
  }
  return name;
}

}  // namespace stitch::code::loops
