#include "plan/precision/rounding.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "plan/precision/error_budget.h"

namespace stitch::plan {

bool is_convolution(Op op) { return op == Op::conv || op == Op::conv_transpose; }

int64_t filter_taps(const Graph& graph, const Node& convolution) {
  const Shape& weight = graph.type(convolution.operands[1]).shape;
  int64_t out = 1;
  for (size_t d = 2; d < weight.size(); ++d) out *= weight[d];
  return out;
}

int64_t channels_per_group(const Graph& graph, const Node& convolution) {
  return graph.type(convolution.operands[0]).shape[1] / convolution.attributes.integer("groups");
}

namespace {

// From PyTorch's errors on an H200, in the 506 convolutions of KernelBench's 250 tasks: those over fewer than
// 16 channels, of groups of images, and transposed ones of 5 x 5 x 5 taps with strides run in FP32 though
// TF32 is allowed; one of 3 channels with filters of 11 x 11 doesn't. One tap with strides over 64 channels
// (ResNet-18's first shortcut) runs in FP32, too. It is wrong about ten: FP32 where few filters or few
// pixels follow (DenseNet's first 96 to 32, 160 to 960 at 7 x 7), TF32 for 7 x 7 filters
// over 3 channels and for a group of 320.
bool is_tf32_by_shape(const Graph& graph, const Node& convolution) {
  const int64_t taps = filter_taps(graph, convolution);
  const auto& stride = convolution.attributes.integers("stride");
  if (convolution.op == Op::conv_transpose) {
    bool large = stride.size() == 3 && taps >= 125 && std::ranges::max(stride) > 1;
    return convolution.attributes.integer("groups") == 1 && !large;
  }
  int64_t channels = channels_per_group(graph, convolution);
  bool flat = graph.type(convolution.operands[0]).rank() == 4;
  if (flat && convolution.attributes.integer("groups") > 1) return false;
  if (std::ranges::max(stride) > 1 && taps == 1 && channels <= 64) return false;
  return channels >= 16 || (flat && channels * taps >= 256);
}

// A batch norm in training gives its variances away: rounding a filter's weights shows there, however much
// noise other layers leave in the values. A bias in between changes no variance.
bool shows_in_statistics(const Graph& graph, const Node& convolution) {
  auto is_updated = [&](const Node& norm) {
    return std::ranges::any_of(graph.updates, [&](const Update& update) {
      return std::ranges::find(norm.results, update.value) != norm.results.end();
    });
  };
  auto reads = [](const Node& node, ValueId value) {
    return std::ranges::find(node.operands, value) != node.operands.end();
  };
  std::set<ValueId> same = {convolution.results[0]};
  for (const Node& node : graph.nodes)
    if (node.op == Op::add && reads(node, convolution.results[0]) &&
        std::ranges::any_of(node.operands, [&](ValueId id) {
          return graph.type(id).elements() == graph.type(convolution.results[0]).shape[1];
        }))
      same.insert(node.results[0]);
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return node.op == Op::batch_norm && same.contains(node.operands[0]) && is_updated(node);
  });
}

// Nodes that one of `sources` stands before, and nodes that one stands behind; both with `sources`
// themselves.
struct Reach {
  std::vector<bool> behind, before;

  Reach(const Graph& graph, const std::set<int32_t>& sources)
      : behind(graph.nodes.size()), before(graph.nodes.size()) {
    const std::vector<int32_t> makers = producers(graph);
    const std::vector<std::vector<int32_t>> readers = users(graph);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      behind[n] = sources.contains(static_cast<int32_t>(n));
      for (ValueId id : graph.nodes[n].operands)
        if (id != ValueId::none && makers[index_of(id)] >= 0 &&
            behind[static_cast<size_t>(makers[index_of(id)])])
          behind[n] = true;
    }
    for (size_t n = graph.nodes.size(); n-- > 0;) {
      before[n] = sources.contains(static_cast<int32_t>(n));
      for (ValueId id : graph.nodes[n].results)
        for (int32_t reader : readers[index_of(id)])
          if (before[static_cast<size_t>(reader)]) before[n] = true;
    }
  }
};

}  // namespace

MeasuredErrors held_to_pytorch(MeasuredErrors errors, const Graph& graph,
                               const std::map<int32_t, bool>& tf32) {
  std::set<const MeasuredErrors::Product*> products;
  for (auto [n, is_tf32] : tf32) {
    if (!is_tf32) continue;
    const Node& node = graph.node(n);
    if (const auto* found = errors.product(graph[node.results[0]].name, node.module)) products.insert(found);
  }
  std::vector<double> factors = errors.pytorch;
  for (size_t g = 0; g < factors.size(); ++g) {
    double sum = 0;
    for (const auto* product : products)
      for (const auto& operand : product->operands) sum += operand.groups[g].tf32;
    factors[g] = std::isfinite(sum) && sum > factors[g] ? factors[g] / sum : 1;
  }
  for (auto& [name, product] : errors.products) {
    if (!products.contains(&product)) continue;
    for (auto& operand : product.operands)
      for (size_t g = 0; g < factors.size(); ++g) {
        operand.groups[g].tf32 *= factors[g];
        operand.groups[g].f16 *= factors[g];
      }
  }
  return errors;
}

// PyTorch's own convolutions in TF32 are a quarter of the budget, which is twice its error. As much again
// goes to others, where it saves the most work; the rest is for values stored in fp16.
void Rounding::spend(const Graph& graph, const MeasuredErrors& errors,
                     const std::set<int32_t>& convolutions) {
  constexpr double for_tf32 = 0.5;
  auto node = [&](int32_t n) -> const Node& { return graph.node(n); };
  std::vector<double> limits(errors.groups.size(), for_tf32);
  for (int32_t n : tf32_) {
    const std::vector<double> squares = operand_squares(errors, graph, node(n), Precision::tf32);
    for (size_t g = 0; g < limits.size(); ++g) limits[g] -= std::isnan(squares[g]) ? 0 : squares[g];
  }
  std::vector<int32_t> others;
  std::vector<Expense> expenses;
  for (int32_t n : convolutions) {
    if (tf32_.contains(n) || exact_.contains(n)) continue;
    others.push_back(n);
    expenses.push_back({.gain = cost(graph, node(n)).matrix_flops,
                        .cost = operand_squares(errors, graph, node(n), Precision::tf32)});
  }
  exact_.insert(others.begin(), others.end());
  ten_bits_ = tf32_;
  for (size_t i : choose_spending(expenses, limits)) {
    ten_bits_.insert(others[i]);
    exact_.erase(others[i]);
  }
}

Rounding::Rounding(const Graph& graph, Numerics numerics, const ReferenceFacts& torch)
    : follows_pytorch_(numerics == Numerics::standard || numerics == Numerics::tf32) {
  std::set<int32_t> convolutions;
  for (int32_t n = 0; n < std::ssize(graph.nodes); ++n) {
    const Node& node = graph.node(n);
    if (!is_convolution(node.op)) continue;
    convolutions.insert(n);
    auto seen = torch.tf32.find(n);
    if (seen != torch.tf32.end() ? seen->second : is_tf32_by_shape(graph, node))
      tf32_.insert(n);
    else if (follows_pytorch_ && shows_in_statistics(graph, node))
      exact_.insert(n);
  }
  if (numerics == Numerics::strict) return;
  if (torch.as_pytorch && follows_pytorch_) {
    ten_bits_ = tf32_;
    std::ranges::set_difference(convolutions, tf32_, std::inserter(exact_, exact_.end()));
    return;
  }
  if (torch.errors && follows_pytorch_) {
    spend(graph, *torch.errors, convolutions);
    return;
  }
  const Reach reach(graph, numerics == Numerics::half ? convolutions : tf32_);
  for (int32_t n : convolutions)
    if ((reach.behind[static_cast<size_t>(n)] || reach.before[static_cast<size_t>(n)]) && !exact_.contains(n))
      ten_bits_.insert(n);
}

}  // namespace stitch::plan
