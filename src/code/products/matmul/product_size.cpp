#include "code/products/matmul/product_size.h"

#include <algorithm>
#include <cmath>

#include "graph/cost.h"
#include "plan/cost/estimate.h"
#include "plan/regions/views.h"

namespace stitch::code {

namespace {

// The source of a view inside the region.
ValueId viewed(const Graph& graph, const plan::Region& region, ValueId value) {
  for (auto n = region.nodes.rbegin(); n != region.nodes.rend(); ++n) {
    const Node& node = graph.node(*n);
    if (node.results[0] == value && plan::is_strided_view(node.op)) value = node.operands[0];
  }
  return value;
}
bool is_weight(const Graph& graph, const plan::Region& region, ValueId value) {
  return graph[value].has_data() && std::ranges::find(region.reads, value) == region.reads.end();
}

// How well tiles of the result fill the GPU.
double filled(const GpuSpec& gpu, const ProductSize& size) {
  const double sms = gpu.sms;
  const double batches = size.left * size.right * size.result / size.multiplications / size.multiplications;
  const double tiles = batches * std::ceil(size.rows() / 128) * std::ceil(size.columns() / 128);
  // With few tiles, libraries split the depth.
  return tiles < sms ? std::min(1.0, std::max(tiles / sms, size.depth() / 8192))
                     : tiles / (std::ceil(tiles / sms) * sms);
}

double bandwidth(const GpuSpec& gpu) { return plan::streaming_share * gpu.bandwidth; }

// Results are stored after all their sums, which little hides: 32768 x 32768 x 64 takes 4.0 ms in FP32 on an
// H200, of which arithmetic is 2.7.
double product_seconds(const GpuSpec& gpu, const ProductSize& size, double flops, double rate,
                       double operand_bytes) {
  return std::max(flops / (rate * filled(gpu, size)),
                  operand_bytes * (size.left + size.right) / bandwidth(gpu)) +
         4 * size.result / bandwidth(gpu) + gpu.kernel_overhead;
}

}  // namespace

std::optional<ProductSize> product_size(const Graph& graph, const plan::Region& region) {
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    if (node.op != Op::linear && node.op != Op::matmul && node.op != Op::einsum) continue;
    if (node.operands.size() < 2) return std::nullopt;
    auto elements = [&](ValueId id) { return static_cast<double>(graph.type(id).elements()); };
    const ValueId left = viewed(graph, region, node.operands[0]),
                  right = viewed(graph, region, node.operands[1]);
    return ProductSize{elements(node.operands[0]),
                       elements(node.operands[1]),
                       elements(node.results[0]),
                       cost(graph, node).matrix_flops / 2,
                       is_weight(graph, region, left),
                       is_weight(graph, region, right),
                       left,
                       right};
  }
  return std::nullopt;
}

double fp32_seconds(const GpuSpec& gpu, const ProductSize& size) {
  return product_seconds(gpu, size, 2 * size.multiplications, gpu.fp32_products, 4);
}

double tf32_seconds(const GpuSpec& gpu, const ProductSize& size) {
  return product_seconds(gpu, size, 2 * size.multiplications, gpu.tf32_products, 4);
}

namespace {

double activations(const ProductSize& size) {
  return (size.left_is_weight ? 0 : size.left) + (size.right_is_weight ? 0 : size.right);
}

// Of the passes that convert activations: one that usually suits, and one that looks whether it did.
double conversion_launches(const GpuSpec& gpu, const ProductSize& size) {
  return 2 * (!size.left_is_weight + !size.right_is_weight) * gpu.kernel_overhead;
}

}  // namespace

double rounded_seconds(const GpuSpec& gpu, const ProductSize& size) {
  return product_seconds(gpu, size, 2 * size.multiplications, gpu.fp16_long_products, 2) +
         6 * activations(size) / bandwidth(gpu) + conversion_launches(gpu, size);
}

// Activations are read and written in three parts, and tensor cores multiply three times as much.
double split_seconds(const GpuSpec& gpu, const ProductSize& size) {
  return product_seconds(gpu, size, 6 * size.multiplications, gpu.fp16_long_products, 6) +
         10 * activations(size) / bandwidth(gpu) + conversion_launches(gpu, size);
}

// An fp16 product, and an int8 product of twice the depth at twice the rate; then both results are combined.
double int8_seconds(const GpuSpec& gpu, const ProductSize& size) {
  const double kernels = 3.0 + !size.left_is_weight + !size.right_is_weight;
  return product_seconds(gpu, size, 4 * size.multiplications, gpu.fp16_long_products, 4) +
         12 * (activations(size) + size.result) / bandwidth(gpu) + kernels * gpu.kernel_overhead;
}

int vector_teams(const GpuSpec& gpu, int64_t depth, int64_t bytes_an_element, int64_t blocks) {
  constexpr int64_t threads = 256, warp = 32;
  const int64_t vectors = (depth * bytes_an_element + 15) / 16;
  auto wasteful = [&](int64_t team) { return 10 * vectors < 9 * ((vectors + team - 1) / team * team); };
  int64_t teams = 1;
  while (threads / teams > warp && wasteful(threads / teams) && blocks / (2 * teams) >= gpu.sms) teams *= 2;
  return static_cast<int>(teams);
}

}  // namespace stitch::code
