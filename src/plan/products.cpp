#include "plan/products.h"

#include <algorithm>
#include <cmath>

namespace stitch::plan {

namespace {

bool is_view(Op op) { return op == Op::permute || op == Op::reshape || op == Op::expand || op == Op::slice; }

// What a product's region may take over: a constant that what follows the product needs, or a view.
bool can_be_taken(const Graph& graph, const Region& region, const Region& product,
                  const std::vector<int32_t>& users) {
  if (region.nodes.size() != 1) return false;
  const Node& node = graph.nodes[static_cast<size_t>(region.nodes[0])];
  auto every_user = [&](auto fits) {
    return std::ranges::all_of(users, [&](int32_t n) {
      return std::ranges::find(product.nodes, n) != product.nodes.end() &&
             fits(graph.nodes[static_cast<size_t>(n)]);
    });
  };
  bool matrix = product.technique.starts_with("matmul."),
       convolution = product.technique.starts_with("conv.");
  bool weight = is_view(node.op) && graph[node.operands[0]].has_data();
  if (node.op == Op::full || (convolution && weight))
    return (matrix || convolution) &&
           every_user([](const Node& user) { return info(user.op).family == Family::pointwise; });
  return is_view(node.op) && matrix && every_user([](const Node&) { return true; });
}

}  // namespace

Result<Plan> take_views(const Graph& graph, Plan plan, const Techniques& techniques) {
  std::vector<std::vector<int32_t>> used_by = users(graph);
  auto wanted = [&](ValueId value) {
    return std::ranges::find(graph.outputs, value) != graph.outputs.end() ||
           std::ranges::find(graph.updates, value, &Update::value) != graph.updates.end();
  };
  // From the end, so that a view of a view follows it.
  for (size_t p = plan.regions.size(); p-- > 0;) {
    for (size_t v = p; v-- > 0;) {
      Region& product = plan.regions[p];
      const Region& view = plan.regions[v];
      if (view.nodes.empty() || product.nodes.empty() || view.writes.size() != 1) continue;
      ValueId value = view.writes[0];
      if (wanted(value) || !can_be_taken(graph, view, product, used_by[index_of(value)])) continue;
      Region both = product;
      both.nodes.insert(both.nodes.begin(), view.nodes.begin(), view.nodes.end());
      std::ranges::sort(both.nodes);
      complete(graph, both);
      // The Coder takes reads for row-major when it looks for strides.
      bool row_major = std::ranges::all_of(
          both.reads, [&](ValueId id) { return plan.storage[index_of(id)].order.empty(); });
      if (!row_major || !techniques.accepts(both.technique, graph, both)) continue;
      product = std::move(both);
      plan.regions[v] = {};
    }
  }
  std::erase_if(plan.regions, [](const Region& region) { return region.nodes.empty(); });
  return plan;
}

namespace {

// Measured on an H200, or guessed near what was: FP32 on CUDA cores, fp16 on tensor cores inside long
// products, memory.
constexpr double fp32_rate = 50e12, fp16_rate = 620e12, bandwidth = 3.6e12, kernel_seconds = 2e-6;
constexpr double multiprocessors = 132;

struct ProductSize {
  double left, right, result;  // elements
  double multiplications;
  bool left_is_weight, right_is_weight;

  // Whatever is batched: elements that share nothing with the other side count once.
  double rows() const { return multiplications / right; }
  double columns() const { return multiplications / left; }
  double depth() const { return multiplications / result; }
  // How well tiles of the result fill the machine.
  double filled() const {
    double batches = left * right * result / multiplications / multiplications;
    double tiles = batches * std::ceil(rows() / 128) * std::ceil(columns() / 128);
    // Where tiles are few, libraries split the depth.
    return tiles < multiprocessors ? std::min(1.0, std::max(tiles / multiprocessors, depth() / 8192))
                                   : tiles / (std::ceil(tiles / multiprocessors) * multiprocessors);
  }
};

const Node* product_of(const Graph& graph, const Region& region) {
  for (int32_t n : region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (node.op == Op::linear || node.op == Op::matmul || node.op == Op::einsum) return &node;
  }
  return nullptr;
}

// A parameter, or a view of one inside the region.
bool is_weight(const Graph& graph, const Region& region, ValueId value) {
  for (auto n = region.nodes.rbegin(); n != region.nodes.rend(); ++n) {
    const Node& node = graph.nodes[static_cast<size_t>(*n)];
    if (node.results[0] == value && is_view(node.op)) value = node.operands[0];
  }
  return graph[value].has_data() && std::ranges::find(region.reads, value) == region.reads.end();
}

ProductSize size_of(const Graph& graph, const Region& region, const Node& node) {
  auto elements = [&](ValueId id) { return static_cast<double>(graph.type(id).elements()); };
  return {elements(node.operands[0]),
          elements(node.operands[1]),
          elements(node.results[0]),
          cost(graph, node).matrix_flops / 2,
          is_weight(graph, region, node.operands[0]),
          is_weight(graph, region, node.operands[1])};
}

// Results are written when all their sums are made, which little hides: 32768 x 32768 x 64 takes 4.0 ms in
// FP32, of which arithmetic is 2.7.
double product_seconds(const ProductSize& size, double flops, double rate, double operand_bytes) {
  return std::max(flops / (rate * size.filled()), operand_bytes * (size.left + size.right) / bandwidth) +
         4 * size.result / bandwidth + kernel_seconds;
}

double fp32_seconds(const ProductSize& size) {
  return product_seconds(size, 2 * size.multiplications, fp32_rate, 4);
}

// Activations are read and written in three parts; then tensor cores multiply three times as much.
double split_seconds(const ProductSize& size) {
  double splits = (size.left_is_weight ? 0 : size.left) + (size.right_is_weight ? 0 : size.right);
  double kernels = 2.0 * !size.left_is_weight + 2.0 * !size.right_is_weight;
  return product_seconds(size, 6 * size.multiplications, fp16_rate, 6) + 10 * splits / bandwidth +
         kernels * kernel_seconds;
}

// Tensor cores cut sums off towards zero. Measured on an H200: sums of 1024 products of positive numbers are
// off by 5.5e-6, of numbers that balance, as weights do, by a quarter of that, and in proportion to their
// length. Errors add up from layer to layer, all the way where nothing normalises or is added in between
// (seventeen layers of 1024 were off by 1.9e-5).
int64_t deepest_sums(const Graph& graph, const std::vector<std::pair<Region*, ProductSize>>& chosen) {
  constexpr double most_in_a_row = 5120;
  bool damped = std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.op == Op::add || node.op == Op::layer_norm || node.op == Op::batch_norm ||
           node.op == Op::group_norm || node.op == Op::attention || node.op == Op::softmax;
  });
  // What a subtraction and a threshold leave of a result is small, and has all of its error.
  bool thinned =
      !damped && std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == Op::sub; });
  int64_t deepest = thinned ? 1024 : 4096;
  auto in_a_row = [&] {
    double sum = 0;
    for (const auto& [region, size] : chosen)
      if (!damped || size.depth() > 2048) sum += std::min(size.depth(), static_cast<double>(deepest));
    return sum;
  };
  const int64_t least = damped ? 2048 : 128;
  while (deepest > least && in_a_row() > most_in_a_row) deepest /= 2;
  return deepest;
}

Result<Plan> split_in_sums(const Graph& graph, Plan plan, const Techniques& techniques, int64_t finer) {
  if (plan.numerics != "strict" && plan.numerics != "default") return plan;
  std::vector<std::pair<Region*, ProductSize>> chosen;
  for (Region& region : plan.regions) {
    const Node* node = product_of(graph, region);
    if (!node || region.technique != "matmul.cublaslt" || node->operands.size() < 2) continue;
    ProductSize size = size_of(graph, region, *node);
    if (size.left_is_weight && size.right_is_weight) continue;
    bool single = std::ranges::all_of(
        region.reads, [&](ValueId id) { return plan.storage[index_of(id)].dtype == DType::f32; });
    if (!single || split_seconds(size) > 0.9 * fp32_seconds(size)) continue;
    if (techniques.accepts("matmul.split_half", graph, region)) chosen.emplace_back(&region, size);
  }
  const int64_t deepest = deepest_sums(graph, chosen) / finer;
  for (auto& [region, size] : chosen) {
    region->technique = "matmul.split_half";
    bool balances = size.left_is_weight || size.right_is_weight;
    region->settings["deepest"] = balances ? deepest : std::min<int64_t>(deepest, 1024 / finer);
  }
  return plan;
}

}  // namespace

Result<Plan> split_products(const Graph& graph, Plan plan, const Techniques& techniques) {
  return split_in_sums(graph, std::move(plan), techniques, 1);
}

Result<Plan> split_products_finely(const Graph& graph, Plan plan, const Techniques& techniques) {
  return split_in_sums(graph, std::move(plan), techniques, 4);
}

}  // namespace stitch::plan
