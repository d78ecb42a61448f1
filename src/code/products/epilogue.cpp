#include "code/products/epilogue.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "code/expression/pointwise.h"
#include "code/expression/statement.h"
#include "code/index.h"
#include "code/names.h"
#include "code/products/signature.h"

namespace stitch::code {

// Unique per region: without separators, conv2d_12 and conv2d_1_2 would collide.
std::string type_name(std::string_view region, std::string_view what) {
  auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string out;
  bool upper = true;
  for (size_t i = 0; i < region.size(); ++i) {
    const char c = region[i];
    if (c != '_') {
      out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    } else if ((i > 0 && is_digit(region[i - 1])) || (i + 1 < region.size() && is_digit(region[i + 1]))) {
      out += c;
    }
    upper = c == '_' || is_digit(c);
  }
  return out + std::string(what);
}

std::string arithmetic_type(DType dtype) {
  return dtype == DType::f64 ? "double" : is_floating(dtype) ? "float" : "int64_t";
}

namespace {

// For empty tensors every index is 0.
Indices first_indices(const Index& position, const Shape& shape) {
  return element_count(shape) == 0 ? Indices(shape.size()) : unflatten(position, shape);
}

// For an image (samples, channels, …).
Indices coordinates(const Shape& shape) {
  Indices out = {Index::variable("sample", shape[0]), Index::variable("channel", shape[1])};
  const Shape plane(shape.begin() + 2, shape.end());
  for (const Index& each : first_indices(Index::variable("pixel", element_count(plane)), plane))
    out.push_back(each);
  return out;
}

// Writes the functor's statements node by node.
class Writer {
 public:
  Writer(const RegionRequest& request, const Parts& parts, int64_t run, ElementBy by)
      : request_(request),
        parts_(parts),
        run_(run),
        by_(by),
        number_(arithmetic_type(request.graph.type(parts.result).dtype)) {
    for (const auto* places : {&request.reads, &request.weights, &request.writes})
      for (const Place& place : *places) names_.unique(place.pointer);
    ValueId result = parts.product->results[0];
    const Shape& shape = request.graph.type(result).shape;
    known_[result] = {named("value"),
                      by == ElementBy::coordinates
                          ? coordinates(shape)
                          : first_indices(Index::variable("position", element_count(shape)), shape)};
  }

  Result<void> add_bias(ValueId bias, size_t dim) {
    auto view = find_view(request_, bias);
    if (!view) return not_for(request_.region, "can't read its bias where it lies");
    const Shape& shape = request_.graph.type(parts_.product->results[0]).shape;
    View along{view->place, shape, std::vector<int64_t>(shape.size(), 0), view->offset};
    along.strides[dim] = view->strides[0];
    const DType dtype = request_.graph.type(parts_.product->results[0]).dtype;
    const Indices& here = known_[parts_.product->results[0]].indices;
    body_.push_back(assign(named("value"), read(along, here, dtype), Operator::add));
    steps_.push_back("bias");
    return {};
  }

  // Already part of the product's result.
  void skip(const Node& node) { known_[node.results[0]] = known_.at(parts_.product->results[0]); }

  Result<void> add(const Node& node) {
    ValueId result = node.results[0];
    const Shape& shape = request_.graph.type(result).shape;
    if (node.op == Op::permute || node.op == Op::reshape) {
      const Known& operand = known_.at(node.operands[0]);
      known_[result] = {operand.value, through_view(request_.graph, node, operand.indices)};
      return {};
    }
    const Indices* indices = nullptr;
    for (ValueId operand : node.operands) {
      auto found = known_.find(operand);
      if (found == known_.end()) continue;
      // Broadcasting may have added leading dimensions of size one.
      if (request_.graph.type(operand).shape != shape)
        return not_for(request_.region, "can't broadcast its product");
      if (indices && *indices != found->second.indices)
        return not_for(request_.region, "can't combine two elements of its product");
      indices = &found->second.indices;
    }
    Indices here = *indices;
    Expressions operands;
    for (ValueId operand : node.operands) {
      if (auto found = known_.find(operand); found != known_.end()) {
        operands.push_back(found->second.value);
        continue;
      }
      STITCH_TRY(Expression read, outside(operand, here, shape));
      operands.push_back(std::move(read));
    }
    const std::string own = names_.unique(format("{}_value", info(node.op).name));
    body_.push_back(define_constant(computed_type(request_.graph.type(result).dtype), own,
                                    pointwise(request_.graph, node, operands)));
    known_[result] = {named(own), std::move(here)};
    steps_.emplace_back(info(node.op).name);
    return {};
  }

  Epilogue finish() {
    Epilogue out;
    out.places = places_;
    out.summary = join(steps_, ", ");
    if (body_.empty()) return out;
    out.type = type_name(request_.name, "Epilogue");
    std::vector<std::string> pointers;
    Lines fields;
    for (const Place* place : places_) {
      fields.add(format("  const {}* {};", element_type(place->dtype), place->pointer),
                 layout_comment(*place));
      pointers.push_back(place->pointer);
    }
    const char* index =
        request_.graph.type(parts_.result).elements() < (int64_t{1} << 31) ? "int" : "int64_t";
    const std::set<std::string> read = names_read(body_);
    bool positioned = !shared_reads_.empty() || read.contains("position");
    std::string head = format("  __device__ {} operator()({} value, {}", number_, number_, index);
    std::string shared;
    if (!shared_reads_.empty()) {
      std::string members;
      std::vector<std::string> reads;
      for (const auto& [text, each] : shared_reads_) {
        members += format("    {} {};\n", each.type.name, each.name);
        reads.push_back(text);
      }
      shared = format(
          "  struct Shared {{\n{}  }};\n"
          "  __device__ Shared shared({} position) const {{\n    return {{{}}};\n  }}\n"
          "{} position) const {{\n    return (*this)(value, position, shared(position));\n  }}\n",
          members, index, join(reads, ",\n            "), head);
    }
    body_.push_back({Return{known_.at(parts_.result).value}});
    remove_relays(body_);
    if (by_ == ElementBy::coordinates) {
      std::vector<std::string> parameters = {format("{} value", number_)};
      for (const char* each : {"sample", "channel", "pixel"})
        parameters.push_back(read.contains(each) ? format("{} {}", index, each) : index);
      out.definition = format("struct {} {{\n{}  __device__ {} operator()({}) const {{\n{}  }}\n}};\n",
                              out.type, fields.text(), number_, join(parameters, ", "), text_of(body_, 4));
      out.construct = format("{}{{{}}}", out.type, join(pointers, ", "));
      return out;
    }
    out.definition = format("struct {} {{\n{}{}{}{}{}) const {{\n{}  }}\n}};\n", out.type, fields.text(),
                            shared, head, positioned ? " position" : "",
                            shared.empty() ? "" : ", const Shared& shared", text_of(body_, 4));
    out.construct = format("{}{{{}}}", out.type, join(pointers, ", "));
    return out;
  }

 private:
  struct Known {
    Expression value;
    Indices indices;
  };
  // Loads shared by all elements of a run.
  struct SharedRead {
    Type type;
    std::string name;
  };

  Expression read(const View& view, const Indices& indices, DType dtype) {
    if (std::ranges::find(places_, view.place) == places_.end()) places_.push_back(view.place);
    const Type type = computed_type(dtype);
    Index at = position(indices, view.strides) + view.offset;
    Expression read = element(view.place->pointer, at);
    if (!(type == stored_type(view.place->dtype))) read = static_cast_to(type, read);
    if (run_ == 1 || !same_for_run(view, indices)) return read;
    auto [found, is_new] = shared_reads_.try_emplace(text_of(read));
    if (is_new) found->second = {type, format("{}_{}", view.place->pointer, shared_reads_.size())};
    return member(named("shared"), found->second.name);
  }
  bool same_for_run(const View& view, const Indices& indices) {
    if (indices != known_.at(parts_.product->results[0]).indices) return false;
    int64_t same = 1;
    for (size_t d = view.shape.size(); d-- > 0 && (view.strides[d] == 0 || view.shape[d] == 1);)
      same *= view.shape[d];
    return same % run_ == 0;
  }

  Result<Expression> outside(ValueId operand, const Indices& indices, const Shape& shape) {
    ValueId source = operand;
    for (auto at = request_.region.nodes.rbegin(); at != request_.region.nodes.rend(); ++at) {
      const Node& node = request_.graph.node(*at);
      if (node.results[0] != source) continue;
      if (node.op == Op::full)
        return number(node.attributes.number("value"), request_.graph.type(operand).dtype);
      if (is_view(node.op)) source = node.operands[0];
    }
    auto view = find_view(request_, operand);
    if (!view) return not_for(request_.region, format("can't read '{}'", request_.graph[operand].name));
    return read(expanded(*view, shape), indices, request_.graph.type(operand).dtype);
  }

  const RegionRequest& request_;
  const Parts& parts_;
  const int64_t run_;
  const ElementBy by_;
  std::string number_;
  std::map<ValueId, Known> known_;
  std::map<std::string, SharedRead> shared_reads_;  // by the expression's text
  std::vector<const Place*> places_;
  std::vector<std::string> steps_;
  Block body_;
  Names names_;
};

}  // namespace

Result<Epilogue> epilogue_of(const RegionRequest& request, const Parts& parts, std::optional<size_t> bias_dim,
                             int64_t run, const Node* done, ElementBy by) {
  Writer writer(request, parts, run, by);
  const Node& product = *parts.product;
  bool own_bias = product.op == Op::linear || product.op == Op::conv || product.op == Op::conv_transpose;
  if (bias_dim && own_bias && product.operands.size() > 2 && product.operands[2] != ValueId::none)
    STITCH_CHECK(writer.add_bias(product.operands[2], *bias_dim));
  for (const Node* node : parts.after) {
    if (node == done)
      writer.skip(*node);
    else
      STITCH_CHECK(writer.add(*node));
  }
  return writer.finish();
}

namespace {

// The factor of a multiplication or division by a constant of the region.
std::optional<double> constant_factor(const RegionRequest& request, const Node& node, ValueId value) {
  if (node.op != Op::mul && node.op != Op::div) return std::nullopt;
  bool first = node.operands[0] == value;
  if ((node.op == Op::div && !first) || node.operands[0] == node.operands[1]) return std::nullopt;
  for (int32_t n : request.region.nodes) {
    const Node& maker = request.graph.node(n);
    if (maker.op != Op::full || maker.results[0] != node.operands[first ? 1 : 0]) continue;
    double constant = maker.attributes.number("value");
    double factor = node.op == Op::div ? 1 / constant : constant;
    if (std::isnormal(static_cast<float>(factor))) return factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LibraryEpilogue> library_epilogue_of(const RegionRequest& request, const Parts& parts,
                                                   size_t bias_dim, bool scaled, const View* like) {
  LibraryEpilogue out;
  const Node& product = *parts.product;
  const Shape& shape = request.graph.type(product.results[0]).shape;
  auto take_bias = [&](ValueId value) {
    auto view = find_view(request, value);
    if (!view || out.bias) return false;
    View along = view->shape.size() == 1 && product.operands.size() > 2 && value == product.operands[2]
                     ? *view
                     : expanded(*view, shape);
    if (along.shape.size() > 1) {
      for (size_t d = 0; d < shape.size(); ++d)
        if (d != bias_dim && shape[d] > 1 && along.strides[d] != 0) return false;
      along = {along.place, {shape[bias_dim]}, {along.strides[bias_dim]}, along.offset};
    }
    if (!along.contiguous() || along.offset != 0) return false;
    out.bias = along;
    return true;
  };
  auto take_matrix = [&](ValueId value) {
    auto view = find_view(request, value);
    if (!like || !view || out.added || view->place->dtype != like->place->dtype || view->shape != shape ||
        like->shape != shape || view->place == like->place)
      return false;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > 1 && view->strides[d] != like->strides[d]) return false;
    out.added = *view;
    return true;
  };
  bool own_bias = product.op == Op::linear || product.op == Op::conv || product.op == Op::conv_transpose;
  if (own_bias && product.operands.size() > 2 && product.operands[2] != ValueId::none)
    if (!take_bias(product.operands[2])) return std::nullopt;
  bool reordered = false;
  ValueId last = product.results[0];
  for (const Node* node : parts.after) {
    auto factor = constant_factor(request, *node, last);
    if (node->op == Op::permute || node->op == Op::reshape) {
      reordered = true;
    } else if (scaled && factor && !out.bias && !out.added && out.activation == LibraryEpilogue::none) {
      out.scale *= *factor;
    } else if (node->op == Op::add && out.activation == LibraryEpilogue::none && !reordered) {
      bool first = node->operands[0] == last;
      if (node->operands[0] == node->operands[1]) return std::nullopt;
      const ValueId other = node->operands[first ? 1 : 0];
      if (!take_matrix(other) && !take_bias(other)) return std::nullopt;
    } else if (node->op == Op::relu && out.activation == LibraryEpilogue::none) {
      out.activation = LibraryEpilogue::relu;
    } else if (node->op == Op::gelu && out.activation == LibraryEpilogue::none &&
               node->attributes.text("approximate") == "tanh") {
      out.activation = LibraryEpilogue::gelu_tanh;
    } else {
      return std::nullopt;
    }
    if (std::ranges::find(node->operands, last) == node->operands.end()) return std::nullopt;
    last = node->results[0];
  }
  return out;
}

}  // namespace stitch::code
