#include "learn/synthesis/recipes.h"

#include <cmath>

#include "base/text.h"

namespace stitch::learn {

namespace {

// "3" or "(3, 5)", as PyTorch takes windows.
std::string tuple_text(const std::vector<int64_t>& sizes) {
  return sizes.size() == 1 ? std::to_string(sizes[0]) : format("({})", join(sizes, ", "));
}

std::string filled(std::string_view text, const std::string& with) {
  std::string out(text);
  if (const size_t at = out.find("{}"); at != std::string::npos) out.replace(at, 2, with);
  return out;
}

std::vector<int64_t> same(const std::vector<int64_t>& kernel, int64_t value) {
  return std::vector<int64_t>(kernel.size(), value);
}

}  // namespace

Draft::Draft(std::string name, DType dtype) : dtype_(dtype) { graph.name = std::move(name); }

ValueId Draft::node(Op op, std::vector<ValueId> operands, const Attributes& attributes) {
  auto made = graph.add_node(op, std::move(operands), attributes);
  if (!made) throw ImpossibleDraft(made.error().message);
  variables_.resize(graph.values.size());
  return made->front();
}

ValueId Draft::said(ValueId id, const std::string& expression) {
  variables_[index_of(id)] = format("v{}", ++named_);
  lines.push_back(format("{} = {}", variables_[index_of(id)], expression));
  return id;
}

std::string Draft::module(std::string_view kind, const std::string& constructor) {
  std::string name = format("{}_{}", kind, modules.size() + 1);
  modules.push_back(format("self.{} = {}", name, constructor));
  return name;
}

ValueId Draft::weight(const std::string& module, const char* name, const Shape& shape, Role role) {
  const std::string key = *name ? format("{}.{}", module, name) : module;
  const DType dtype = std::string_view(name) == "num_batches_tracked" ? DType::i64 : dtype_;
  const ValueId id = graph.add_leaf(role, key, {dtype, shape, {}}, key);
  variables_.resize(graph.values.size());
  return id;
}

ValueId Draft::input(const Shape& shape) {
  static constexpr std::string_view names[] = {"x", "y", "z", "w"};
  const std::string name =
      inputs.size() < 4 ? std::string(names[inputs.size()]) : format("x{}", inputs.size());
  const ValueId id = graph.add_leaf(Role::input, name, {dtype_, shape, {}});
  variables_.resize(graph.values.size());
  variables_[index_of(id)] = name;
  const char* suffix = dtype_ == DType::f16 ? ".half()" : dtype_ == DType::bf16 ? ".bfloat16()" : "";
  inputs.push_back(format("torch.rand({}){}", join(shape, ", "), suffix));
  return id;
}

ValueId Draft::parameter(const Shape& shape) {
  const std::string name = format("weight_{}", modules.size() + 1);
  modules.push_back(format("self.{} = nn.Parameter(torch.randn({}))", name, join(shape, ", ")));
  const ValueId id = weight(name, "", shape);
  variables_[index_of(id)] = "self." + name;
  return id;
}

ValueId Draft::pointwise(Op op, ValueId x, std::string_view text, const Attributes& attributes) {
  const std::string from = variable(x);
  return said(node(op, {x}, attributes), filled(text, from));
}

ValueId Draft::binary(Op op, ValueId a, ValueId b, std::string_view sign) {
  const std::string text = format("{} {} {}", variable(a), sign, variable(b));
  return said(node(op, {a, b}, {}), text);
}

ValueId Draft::with_number(Op op, ValueId x, std::string_view sign, double number) {
  const std::string text = format("{} {} {}", variable(x), sign, number_text(number));
  const ValueId constant =
      node(Op::full, {}, {{"shape", std::vector<int64_t>{}}, {"dtype", dtype_}, {"value", number}});
  return said(node(op, {x, constant}, {}), text);
}

ValueId Draft::reduce(Op op, ValueId x, std::vector<int64_t> dims, bool keep, std::string_view text) {
  const std::string arguments = format(
      "dim={}, keepdim={}", dims.size() == 1 ? std::to_string(dims[0]) : format("({})", join(dims, ", ")),
      keep ? "True" : "False");
  const std::string from = variable(x);
  return said(node(op, {x}, {{"dims", std::move(dims)}, {"keepdim", keep}}),
              format("{}({}, {})", text, from, arguments));
}

ValueId Draft::softmax(ValueId x, int64_t dim, bool log) {
  const std::string text = format("{}({}, dim={})", log ? "F.log_softmax" : "F.softmax", variable(x), dim);
  return said(node(log ? Op::log_softmax : Op::softmax, {x}, {{"dim", dim}}), text);
}

ValueId Draft::cumsum(ValueId x, int64_t dim) {
  const std::string text = format("torch.cumsum({}, dim={})", variable(x), dim);
  return said(node(Op::cumsum, {x}, {{"dim", dim}}), text);
}

ValueId Draft::norm(ValueId x, int64_t dim) {
  const std::string text = format("torch.linalg.vector_norm({}, dim={}, keepdim=True)", variable(x), dim);
  return said(node(Op::norm, {x}, {{"dims", std::vector{dim}}, {"keepdim", true}}), text);
}

ValueId Draft::linear(ValueId x, int64_t out, bool bias) {
  const int64_t in = shape(x).back();
  const std::string name =
      module("linear", format("nn.Linear({}, {}{})", in, out, bias ? "" : ", bias=False"));
  std::vector<ValueId> operands = {x, weight(name, "weight", {out, in})};
  if (bias) operands.push_back(weight(name, "bias", {out}));
  return said(node(Op::linear, std::move(operands), {}), format("self.{}({})", name, variable(x)));
}

ValueId Draft::matmul(ValueId a, ValueId b, bool transpose_b) {
  const std::string text =
      format("torch.matmul({}, {}{})", variable(a), variable(b), transpose_b ? ".transpose(-2, -1)" : "");
  if (transpose_b) {
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < graph.type(b).rank(); ++i) dims.push_back(i);
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    b = node(Op::permute, {b}, {{"dims", dims}});
  }
  return said(node(Op::matmul, {a, b}, {}), text);
}

ValueId Draft::conv(ValueId x, int64_t out, const Window& window, bool bias) {
  const int64_t in = shape(x)[1];
  const std::string name =
      module("conv", format("nn.Conv{}d({}, {}, {}, stride={}, padding={}, dilation={}, groups={}{})",
                            window.kernel.size(), in, out, tuple_text(window.kernel), window.stride,
                            window.padding, window.dilation, window.groups, bias ? "" : ", bias=False"));
  Shape filter = {out, in / window.groups};
  filter.insert(filter.end(), window.kernel.begin(), window.kernel.end());
  std::vector<ValueId> operands = {x, weight(name, "weight", filter)};
  if (bias) operands.push_back(weight(name, "bias", {out}));
  return said(node(Op::conv, std::move(operands),
                   {{"stride", same(window.kernel, window.stride)},
                    {"padding", same(window.kernel, window.padding)},
                    {"dilation", same(window.kernel, window.dilation)},
                    {"groups", window.groups}}),
              format("self.{}({})", name, variable(x)));
}

ValueId Draft::conv_transpose(ValueId x, int64_t out, const Window& window, bool bias) {
  const int64_t in = shape(x)[1];
  const std::string name =
      module("deconv",
             format("nn.ConvTranspose{}d({}, {}, {}, stride={}, padding={}{})", window.kernel.size(), in, out,
                    tuple_text(window.kernel), window.stride, window.padding, bias ? "" : ", bias=False"));
  Shape filter = {in, out};
  filter.insert(filter.end(), window.kernel.begin(), window.kernel.end());
  std::vector<ValueId> operands = {x, weight(name, "weight", filter)};
  if (bias) operands.push_back(weight(name, "bias", {out}));
  return said(node(Op::conv_transpose, std::move(operands),
                   {{"stride", same(window.kernel, window.stride)},
                    {"padding", same(window.kernel, window.padding)},
                    {"dilation", same(window.kernel, 1)},
                    {"output_padding", same(window.kernel, 0)}}),
              format("self.{}({})", name, variable(x)));
}

ValueId Draft::pool(ValueId x, const Window& window, bool maximum) {
  Attributes attributes = {{"kernel", window.kernel},
                           {"stride", same(window.kernel, window.stride)},
                           {"padding", same(window.kernel, window.padding)}};
  if (maximum) attributes.set("dilation", same(window.kernel, 1));
  const std::string text =
      format("F.{}_pool{}d({}, {}, stride={}, padding={})", maximum ? "max" : "avg", window.kernel.size(),
             variable(x), tuple_text(window.kernel), window.stride, window.padding);
  return said(node(maximum ? Op::max_pool : Op::avg_pool, {x}, attributes), text);
}

// As PyTorch leaves it: in training, with statistics that the pass renews.
ValueId Draft::batch_norm(ValueId x) {
  const int64_t channels = shape(x)[1], dims = graph.type(x).rank() - 2;
  const std::string name = module("norm", format("nn.BatchNorm{}d({})", dims, channels));
  const ValueId scale = weight(name, "weight", {channels}), bias = weight(name, "bias", {channels});
  const ValueId mean = weight(name, "running_mean", {channels}, Role::buffer),
                variance = weight(name, "running_var", {channels}, Role::buffer),
                count = weight(name, "num_batches_tracked", {}, Role::buffer);
  const ValueId one =
      node(Op::full, {}, {{"shape", std::vector<int64_t>{}}, {"dtype", DType::i64}, {"value", 1.0}});
  const ValueId next = node(Op::add, {count, one}, {});
  const ValueId out = node(Op::batch_norm, {x, scale, bias, mean, variance}, {{"training", true}});
  const std::vector<ValueId>& results = graph.nodes.back().results;
  graph.updates.push_back({mean, results[1]});
  graph.updates.push_back({variance, results[2]});
  graph.updates.push_back({count, next});
  return said(out, format("self.{}({})", name, variable(x)));
}

ValueId Draft::group_norm(ValueId x, int64_t groups) {
  const int64_t channels = shape(x)[1];
  const std::string name = module("norm", format("nn.GroupNorm({}, {})", groups, channels));
  const ValueId scale = weight(name, "weight", {channels}), bias = weight(name, "bias", {channels});
  return said(node(Op::group_norm, {x, scale, bias}, {{"groups", groups}}),
              format("self.{}({})", name, variable(x)));
}

ValueId Draft::layer_norm(ValueId x) {
  const int64_t width = shape(x).back();
  const std::string name = module("norm", format("nn.LayerNorm({})", width));
  const ValueId scale = weight(name, "weight", {width}), bias = weight(name, "bias", {width});
  return said(node(Op::layer_norm, {x, scale, bias}, {{"dims", int64_t{1}}}),
              format("self.{}({})", name, variable(x)));
}

ValueId Draft::reshape(ValueId x, const Shape& to) {
  const std::string text = format("{}.reshape({})", variable(x), join(to, ", "));
  return said(node(Op::reshape, {x}, {{"shape", to}}), text);
}

ValueId Draft::permute(ValueId x, const std::vector<int64_t>& dims) {
  const std::string text = format("{}.permute({})", variable(x), join(dims, ", "));
  return said(node(Op::permute, {x}, {{"dims", dims}}), text);
}

ValueId Draft::concat(const std::vector<ValueId>& parts, int64_t dim) {
  std::vector<std::string> names;
  for (ValueId part : parts) names.push_back(variable(part));
  return said(node(Op::concat, parts, {{"dim", dim}}),
              format("torch.cat([{}], dim={})", join(names, ", "), dim));
}

ValueId Draft::slice(ValueId x, int64_t dim, int64_t start, int64_t end) {
  const std::string text = format("{}.narrow({}, {}, {})", variable(x), dim, start, end - start);
  return said(node(Op::slice, {x}, {{"dim", dim}, {"start", start}, {"end", end}}), text);
}

ValueId Draft::attention(ValueId q, ValueId k, ValueId v, bool causal) {
  const double scale = 1 / std::sqrt(static_cast<double>(shape(q).back()));
  const std::string text = format("F.scaled_dot_product_attention({}, {}, {}{})", variable(q), variable(k),
                                  variable(v), causal ? ", is_causal=True" : "");
  return said(node(Op::attention, {q, k, v}, {{"causal", causal}, {"scale", scale}}), text);
}

ValueId Draft::recurrence(ValueId x, int64_t hidden, bool lstm) {
  const int64_t batch = shape(x)[0], in = shape(x)[2], gates = lstm ? 4 : 3;
  const std::string name = module(
      lstm ? "lstm" : "gru", format("nn.{}({}, {}, batch_first=True)", lstm ? "LSTM" : "GRU", in, hidden));
  auto zeros = [&] {
    return node(Op::full, {},
                {{"shape", std::vector<int64_t>{1, batch, hidden}}, {"dtype", dtype_}, {"value", 0.0}});
  };
  const ValueId h0 = zeros(), c0 = lstm ? zeros() : ValueId::none;
  std::vector<ValueId> operands = {x, h0, c0};
  operands.push_back(weight(name, "weight_ih_l0", {gates * hidden, in}));
  operands.push_back(weight(name, "weight_hh_l0", {gates * hidden, hidden}));
  operands.push_back(weight(name, "bias_ih_l0", {gates * hidden}));
  operands.push_back(weight(name, "bias_hh_l0", {gates * hidden}));
  return said(node(Op::rnn, std::move(operands),
                   {{"kind", std::string(lstm ? "lstm" : "gru")}, {"batch_first", true}}),
              format("self.{}({})[0]", name, variable(x)));
}

std::string Draft::python(const std::string& about) const {
  std::string out = format(
      "\"\"\"{}\"\"\"\n\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n", about);
  out += "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n";
  for (const std::string& line : modules) out += "        " + line + "\n";
  if (dtype_ == DType::f16) out += "        self.half()\n";
  if (dtype_ == DType::bf16) out += "        self.bfloat16()\n";
  std::vector<std::string> names, results;
  for (ValueId id : graph.inputs()) names.push_back(graph[id].name);
  out += format("\n    def forward(self, {}):\n", join(names, ", "));
  for (const std::string& line : lines) out += "        " + line + "\n";
  for (ValueId id : graph.outputs) results.push_back(variable(id));
  out += format("        return {}\n\n\ndef get_inputs():\n    return [{}]\n\n\n", join(results, ", "),
                join(inputs, ", "));
  return out + "def get_init_inputs():\n    return []\n";
}

}  // namespace stitch::learn
