// conv.transposed: transposed convolutions in FP32 on the CUDA cores, phase by phase
// (kernels/conv_transposed.h), with the epilogue and groups. Settings:
//   fours  groups of four adjacent cells per thread (default: as many as registers hold)
// Chosen where PyTorch uses FP32, and where the result's bytes outweigh the products.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/division.h"
#include "base/text.h"
#include "code/names.h"
#include "code/products/convolution/convolution.h"
#include "code/products/kernel_region.h"
#include "code/products/techniques.h"
#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/layouts.h"

namespace stitch::code {

namespace {

// A block's tile, in the kernel's names.
struct PhaseTile {
  int64_t each, own, cell_warps, filter_warps;
  Convolution::Three cells{};
  int64_t chunk = 0;

  int64_t threads() const { return 32 * cell_warps * filter_warps; }
  int64_t filters() const { return own * filter_warps; }
  int64_t room() const { return 32 * cell_warps * each * 4; }  // for cells
};

constexpr int64_t shared_floats = 13 * 1024;  // a quarter of a multiprocessor's shared memory

// Maximum taps of a phase along an axis, and how much further back the last reads than the first.
struct Reach {
  int64_t taps, back;
};
Reach reach_of(const Convolution& c, size_t d) {
  int64_t common = std::gcd(c.stride[d], c.dilation[d]);
  int64_t taps = (c.kernel[d] - 1) / (c.stride[d] / common) + 1;
  return {taps, (taps - 1) * (c.dilation[d] / common)};
}

class TileChoice {
 public:
  TileChoice(const Convolution& c, const plan::Region& region) : c_(c) {
    constexpr int64_t most_sums = 96;
    int64_t filters = c.channels_out / c.groups;
    // Registers for weights or for cells: with few products, more filters per cell save more.
    bool few = c.channels_in / c.groups * c.taps() < 16 * c.stride[0] * c.stride[1] * c.stride[2];
    tile_.own = filters > 4 && (c.stride[2] == 1 || (c.stride[2] == 2 && few)) ? 8 : 4;
    tile_.each = region.choice("fours", std::clamp<int64_t>(most_sums / (4 * tile_.own * c.stride[2]), 1, 2));
    int64_t warps = divided_up(filters, tile_.own);
    int64_t most_warps = tile_.each * 4 * c.stride[2] * tile_.own > 72 ? 4 : 8;  // three blocks, or two
    tile_.filter_warps = divided_up(warps, divided_up(warps, most_warps));
    tile_.cell_warps = std::max<int64_t>(4 / tile_.filter_warps, 1);
    z_ = reach_of(c, 0);
    y_ = reach_of(c, 1);
    back_x_ = (c.kernel[2] - 1) * c.dilation[2] / c.stride[2];
    for (size_t d = 0; d < 2; ++d) all_[d] = divided_up(c.size_out[d], c.stride[d]);
    all_[2] = (c.size_out[2] - 1 + c.padding[2]) / c.stride[2] - c.padding[2] / c.stride[2] + 1;
  }

  // Empty: not even one channel fits.
  std::optional<PhaseTile> choose() {
    std::optional<PhaseTile> best;
    double least = 0;
    for (int64_t x = 4; x <= std::min(divided_up(all_[2], 4) * 4, tile_.room()); x += 4)
      for (int64_t y = 1; y <= std::min(all_[1], tile_.room() / x); ++y) {
        tile_.cells = {std::min(all_[0], tile_.room() / (x * y)), y, x};
        int64_t channel = image() + weights();
        if (channel > shared_floats) continue;
        if (double cost = this->cost(); !best || cost < least) {
          int64_t channels = c_.channels_in / c_.groups, most = std::min(shared_floats / channel, channels);
          best = tile_;
          best->chunk = divided_up(channels, divided_up(channels, most));
          least = cost;
        }
      }
    return best;
  }

 private:
  // Floats in shared memory, per channel.
  int64_t image() const { return (tile_.cells[0] + z_.back) * (tile_.cells[1] + y_.back) * wide(); }
  int64_t weights() const { return z_.taps * y_.taps * c_.kernel[2] * tile_.filters(); }
  int64_t wide() const { return tile_.cells[2] + divided_up(back_x_, 4) * 4; }
  // Average number of passes for eight lanes to read groups of four from shared memory (bank conflicts).
  double turns() const {
    int64_t cells = tile_.cells[0] * tile_.cells[1] * tile_.cells[2], sum = 0, count = 0;
    for (int64_t first = 0; first < cells; first += 32, ++count) {
      std::array<int64_t, 8> banks{};
      for (int64_t cell = first; cell < std::min(first + 32, cells); cell += 4) {
        int64_t row = cell / tile_.cells[2], z = row / tile_.cells[1], y = row % tile_.cells[1];
        int64_t at = (z * (tile_.cells[1] + y_.back) + y) * wide() + cell % tile_.cells[2];
        ++banks[static_cast<size_t>(at / 4 % 8)];
      }
      sum += std::ranges::max(banks);
    }
    return static_cast<double>(sum) / static_cast<double>(count);
  }
  // Cycles of a multiprocessor for all blocks: products or their shared-memory loads, whichever is longer;
  // filling the image, 12 instructions per element; partial sectors at row ends.
  double cost() const {
    double blocks = 1, rows = static_cast<double>(tile_.cells[0] * tile_.cells[1] * tile_.filters());
    for (size_t d = 0; d < 3; ++d) blocks *= static_cast<double>(divided_up(all_[d], tile_.cells[d]));
    double taps = static_cast<double>(c_.taps()) / static_cast<double>(c_.stride[0] * c_.stride[1]);
    double weights = static_cast<double>(tile_.own * tile_.threads() / 32) * taps;
    double cells = static_cast<double>(tile_.each);
    double windows = cells * turns() * static_cast<double>(4 + wide() - tile_.cells[2]) /
                     static_cast<double>(tile_.own * c_.kernel[2]);
    double products = weights * std::max(cells, 1 + windows);
    double channels = static_cast<double>(c_.channels_in) / static_cast<double>(c_.groups);
    return blocks * (channels * (products + 12 * static_cast<double>(image()) / 128) + rows / 2);
  }

  const Convolution& c_;
  PhaseTile tile_{};
  Reach z_, y_;
  int64_t back_x_;
  Convolution::Three all_{};
};

std::string tap_index_function(std::string_view name, const std::array<std::string_view, 5>& names,
                               const Index& index) {
  std::vector<std::string> parameters;
  for (std::string_view each : names)
    parameters.push_back(index.appears(each) ? format("Index {}", each) : "Index");
  return format("  __device__ static Index {}({}) {{\n    return {};\n  }}\n", name, join(parameters, ", "),
                index.text());
}

struct Layer {
  std::string text;
  int64_t packed;  // floats
};

Layer transposed_layer(const Convolution& c, const PhaseTile& tile, const std::string& name) {
  constexpr const char* axes[] = {"z", "y", "x"};
  constexpr int64_t most = int64_t{1} << 30;
  constexpr std::array<std::string_view, 5> in = {"n", "channel", "z", "y", "x"},
                                            out = {"n", "filter", "z", "y", "x"},
                                            weight = {"channel", "filter", "z", "y", "x"};
  auto sum = [&](const View& view, const std::array<std::string_view, 5>& names, int64_t first,
                 int64_t second, const Convolution::Three& size) {
    auto strides = c.strides(view);
    int64_t extents[] = {first, second, size[0], size[1], size[2]};
    Index index(view.offset);
    for (size_t i = 0; i < 5; ++i)
      index = index + Index::variable(std::string(names[i]), extents[i]) * strides[i];
    return index;
  };
  View dense = c.result.view;
  dense.strides = contiguous_strides(dense.shape);
  dense.offset = 0;
  int64_t filters = c.channels_out / c.groups, channels = c.channels_in / c.groups;
  Index x_at = sum(c.x, in, c.batch, c.channels_in, c.size_in),
        weight_at = sum(c.weight, weight, c.channels_in, filters, c.kernel),
        position = sum(dense, out, c.batch, c.channels_out, c.size_out),
        out_at = c.result.scatter ? c.result.scatter(position)
                                  : sum(c.result.view, out, c.batch, c.channels_out, c.size_out);
  bool small =
      x_at.most() < most && weight_at.most() < most && position.most() < most && out_at.most() < most;

  const bool flat = c.dims < 3;
  std::string text = format("struct {} {{  // {}\n", described_as(name, flat), describe(c));
  text += format("  using In = {};\n  using Weight = {};\n  using Out = {};\n  using Index = {};\n",
                 element_type(c.x.place->dtype), element_type(c.weight.place->dtype),
                 element_type(c.result.view.place->dtype), small ? "int" : "int64_t");
  text += format("  static constexpr int samples = {}, groups = {}, channels = {}, filters = {};\n", c.batch,
                 c.groups, channels, filters);
  for (size_t d = flat ? 1 : 0; d < 3; ++d) {
    text += format("  static constexpr int size_in_{0} = {1}, size_out_{0} = {2}, kernel_{0} = {3};\n",
                   axes[d], c.size_in[d], c.size_out[d], c.kernel[d]);
    text += format("  static constexpr int stride_{0} = {1}, padding_{0} = {2}, dilation_{0} = {3};\n",
                   axes[d], c.stride[d], c.padding[d], c.dilation[d]);
  }
  text += format("  static constexpr int cells_z = {}, cells_y = {}, cells_x = {}, chunk = {};\n",
                 tile.cells[0], tile.cells[1], tile.cells[2], tile.chunk);
  text += format("  static constexpr int each = {}, own = {}, cell_warps = {}, filter_warps = {};\n",
                 tile.each, tile.own, tile.cell_warps, tile.filter_warps);
  text += format("  static constexpr Index x_apart = {};\n", c.strides(c.x)[1]);
  text += tap_index_function("x", in, x_at) + tap_index_function("weight", weight, weight_at) +
          tap_index_function("out", out, out_at) + tap_index_function("position", out, position) + "};\n";
  return {text, c.groups * divided_up(filters, tile.filters()) * tile.filters() * channels * c.taps()};
}

// A bias with which sums can start; otherwise it is part of the epilogue.
struct Bias {
  std::optional<View> view;
  const Node* add = nullptr;  // the add after the product, if it isn't the product's own bias
};
Bias bias_of(const RegionRequest& request, const Parts& parts) {
  const Node& product = *parts.product;
  Bias out;
  ValueId value = product.operands.size() > 2 ? product.operands[2] : ValueId::none;
  if (value == ValueId::none && !parts.after.empty() && parts.after[0]->op == Op::add) {
    out.add = parts.after[0];
    value = out.add->operands[out.add->operands[0] == product.results[0] ? 1 : 0];
  }
  if (value == ValueId::none || value == product.results[0]) return {};
  const Shape& shape = request.graph.type(value).shape;
  const int64_t rank = request.graph.type(product.results[0]).rank(),
                filters = request.graph.type(product.results[0]).shape[1];
  // Along all channels.
  const bool along = !out.add || (std::ssize(shape) >= rank - 1 && element_count(shape) == filters &&
                                  shape[shape.size() - static_cast<size_t>(rank) + 1] == filters);
  out.view = along ? find_view(request, value) : std::nullopt;
  const bool dense =
      out.view && out.view->place->dtype == DType::f32 && out.view->contiguous() && out.view->offset == 0;
  return dense ? out : Bias{};
}

Result<void> accepts_conv_transposed(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Convolution c, accepts_convolution(context.graph, region, {.only_f32 = true}));
  if (!c.transposed) return not_for(region, "takes transposed convolutions");
  if (c.stride[2] > 6 || c.kernel[2] > 64) return not_for(region, "has no registers for so wide a cell");
  auto tile = TileChoice(c, region).choose();
  if (!tile) return not_for(region, "has no tile for so large a kernel");
  int64_t blocks = c.batch * c.positions();  // upper bound
  if (blocks >= int64_t{1} << 31 || divided_up(c.channels_out / c.groups, tile->filters()) * c.groups > 65535)
    return not_for(region, "has no grid for so much");
  return {};
}

// Grouped ones, and strided ones in FP32, are cuDNN's worst: 10 to 80 times the bytes' time on an H200, as
// are those with few channels in three dimensions in any arithmetic. With few enough products per result,
// FP32 finishes before cuDNN's fp16 has transposed its images and back.
bool suits_conv_transposed(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  constexpr double few_products = 50;
  const Graph& graph = context.graph;
  const Node& node = *plan::convolution_in(graph, region);
  const Shape& x = graph.type(node.operands[0]).shape;
  const double products =
      cost(graph, node).matrix_flops / 2 / static_cast<double>(graph.type(node.results[0]).elements());
  const bool exact = !context.rounding.may_lose_bits(graph.number_of(node));
  const bool few_channels = x[1] < 16 && x.size() == 5;
  const bool strided =
      std::ranges::any_of(node.attributes.integers("stride"), [](int64_t stride) { return stride > 1; });
  const bool grouped = node.attributes.integer("groups") > 1;
  return few_channels || products <= few_products || (exact && (strided || grouped));
}

Result<RegionCode> write_conv_transposed(const RegionRequest& request) {
  STITCH_TRY(Parts parts, parts_of(request.graph, request.region, convolution_ops));
  STITCH_TRY(Convolution c, convolution_of(request, parts));
  const auto [bias, bias_add] = bias_of(request, parts);
  STITCH_TRY(Epilogue epilogue,
             epilogue_of(request, parts, bias ? std::nullopt : std::optional<size_t>(1), 1, bias_add));
  std::string layer = type_name(request.name, "Layer"), packed = request.name + "_weight_by_tap";
  const Place &x = *c.x.place, &weight = *c.weight.place, &out = *c.result.view.place;
  const Convolution deciding = deciding_geometry(request, *parts.product);
  const auto tile = TileChoice(deciding, request.region).choose();
  if (!tile) return not_for(request.region, "has no tile for so large a kernel");
  Layer made = transposed_layer(c, *tile, layer);
  KernelRegion region{
      .header = "conv_transposed.h",
      .summary = describe(c) + (bias ? ", bias" : ""),
      .idea =
          "Phase by phase in FP32: outputs that see the same taps; kernels/conv_transposed.h has the kernel.",
      .structs = made.text + "\n",
      .reads = {&x},
      .packed = {{weight, packed, DType::f32, made.packed, "taps, channels, filters",
                  format("pack_transposed<{}>", layer)}},
      .call = "enqueue_conv_transposed",
      .arguments = {layer + "{}", x.pointer, packed, bias ? bias->place->pointer : "nullptr", out.pointer}};
  if (bias) region.reads.push_back(bias->place);
  return write_kernel(request, out, epilogue, region);
}

}  // namespace

constinit const ProductTechnique conv_transposed{{
    .name = "conv.transposed",
    .idea = "transposed convolutions in FP32, without multiplying by inserted zeros",
    .kind = plan::Kind::convolution,
    .accepts = accepts_conv_transposed,
    .write = write_conv_transposed,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.55 * context.gpu.fp32, 0.8, 1};
    },
    .suits = suits_conv_transposed,
    .knobs = [](const plan::Context&, const plan::Region&) -> std::vector<plan::Knob> {
      return {{"fours", "groups of four results per thread", {1, 2}}};
    },
    .takes_any_order = true,
    // It doesn't transpose.
    .row_major_values = [](const plan::Context&, const plan::Region& region, const plan::Movable&,
                           int64_t) -> std::vector<ValueId> { return plan::reads_and_writes(region); },
    .may_round_result = true,
}};

}  // namespace stitch::code
