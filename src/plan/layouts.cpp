#include "plan/layouts.h"

#include <algorithm>
#include <set>

namespace stitch::plan {

namespace {

// What tells whether to convert, in seconds of an H200: cuDNN's convolutions there reach these rates (128 x
// 64 x 128^2, 128 filters 3 x 3), and copies this bandwidth. Only their ratios matter.
constexpr double half_rate = 600e12, tf32_rate = 340e12, bandwidth = 3.6e12;
constexpr double pointwise_rate = 200e12;  // a guess

bool convolves(Op op) { return op == Op::conv || op == Op::conv_transpose; }

const Node* convolution_in(const Graph& graph, const Region& region) {
  for (int32_t n : region.nodes)
    if (const Node& node = graph.nodes[static_cast<size_t>(n)]; convolves(node.op)) return &node;
  return nullptr;
}

// Of the weight: taps of a filter, and channels that one sum goes over.
int64_t taps(const Graph& graph, const Node& node) {
  const Shape& weight = graph.type(node.operands[1]).shape;
  int64_t out = 1;
  for (size_t d = 2; d < weight.size(); ++d) out *= weight[d];
  return out;
}
int64_t channels_of_group(const Graph& graph, const Node& node) {
  return graph.type(node.operands[0]).shape[1] / node.attributes.integer("groups");
}

std::vector<int64_t> channels_last_order(int64_t rank) {
  std::vector<int64_t> order = {0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

bool lies_last(const Graph& graph, const Plan& plan, ValueId id) {
  return plan.storage[index_of(id)].order == channels_last_order(graph.type(id).rank());
}

int64_t setting(const Region& region, const char* name) {
  auto found = region.settings.find(name);
  return found == region.settings.end() ? 0 : found->second;
}

// What a library does behind its convolution: ReLU.
bool needs_finishing(const Graph& graph, const Region& region) {
  return std::ranges::any_of(region.nodes, [&](int32_t n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    return !convolves(node.op) && node.op != Op::relu && info(node.op).family != Family::view;
  });
}

double seconds(const Graph& graph, const Plan& plan, const Region& region) {
  bool half = setting(region, "half") == 1;
  const Node& node = *convolution_in(graph, region);
  double bytes = 0;
  for (ValueId id : {node.operands[0], node.results[0]})
    bytes += static_cast<double>(graph.type(id).elements() * (half ? 2 : 4));
  double rate = half ? half_rate : region.technique == "conv.pointwise" ? pointwise_rate : tf32_rate;
  double product = cost(graph, node).matrix_flops / rate;
  double others = 0;  // what the regions beside this one read and write of the same values
  for (const auto* ids : {&region.reads, &region.writes})
    for (ValueId id : *ids)
      others += static_cast<double>(graph.type(id).elements() * size_of(plan.storage[index_of(id)].dtype));
  return std::max(product, bytes / bandwidth) + (rearranged_bytes(graph, plan, region) + others) / bandwidth;
}

// Chooses for every value at once: convolutions ask for an order, and what lies between them follows.
class Chooser {
 public:
  // `careful`: convolutions that aren't chosen are exact, and what they write keeps that; biases do, too.
  Chooser(const Graph& graph, const Plan& plan, bool half, const std::set<int32_t>& ten_bits,
          bool careful = false)
      : graph_(graph), plan_(plan), half_(half), careful_(careful) {
    for (size_t r = 0; r < plan.regions.size(); ++r) {
      for (ValueId id : plan.regions[r].reads) readers_[id].push_back(r);
      for (ValueId id : plan.regions[r].writes) writer_[id] = r;
      if (fits(plan.regions[r], ten_bits)) chosen_.insert(r);
      if (plan.regions[r].technique == "conv.transposed" && loses_bits(plan.regions[r], ten_bits))
        rounded_.insert(plan.regions[r].writes.begin(), plan.regions[r].writes.end());
    }
    fixed_.insert(graph.outputs.begin(), graph.outputs.end());
    for (const Update& update : graph.updates) fixed_.insert(update.value);
  }

  // Convolutions for which conversions cost more than they gain leave, one round after the other.
  Plan choose() {
    for (;;) {
      Plan next = plan_;
      for (size_t r : chosen_) {
        if (!stays_product(next.regions[r])) next.regions[r].technique = "conv.cudnn";
        next.regions[r].settings[half_ ? "half" : "last"] = 1;
        if (careful_) next.regions[r].settings["exact_bias"] = 1;
      }
      assign(next);
      std::vector<size_t> losers;
      for (size_t r : chosen_) {
        const Region& region = next.regions[r];
        ValueId x = convolution_in(graph_, region)->operands[0];
        // Products turn nothing.
        bool turned = region.technique == "conv.pointwise" &&
                      !(lies_last(graph_, next, x) && lies_last(graph_, next, region.writes[0]));
        if (turned || seconds(graph_, next, region) >= seconds(graph_, plan_, plan_.regions[r]))
          losers.push_back(r);
      }
      if (losers.empty()) return next;
      for (size_t r : losers) chosen_.erase(r);
    }
  }

 private:
  static bool loses_bits(const Region& region, const std::set<int32_t>& ten_bits) {
    return std::ranges::any_of(region.nodes, [&](int32_t n) { return ten_bits.contains(n); });
  }

  bool fits(const Region& region, const std::set<int32_t>& ten_bits) const {
    bool product = region.technique == "conv.pointwise";
    if (!product && region.technique != "conv.cudnn") return false;
    if (setting(region, "half") == 1) return false;  // done already
    if (!loses_bits(region, ten_bits)) return false;
    const Node& node = *convolution_in(graph_, region);
    const Shape& x = graph_.type(node.operands[0]).shape;
    if (graph_.type(node.results[0]).dtype != DType::f32) return false;
    int64_t groups = node.attributes.integer("groups");
    if (x[1] == groups && x[1] > 1) return false;
    if (product && groups > 1 && !stays_product(region)) return false;
    // cuDNN is up to five times slower than in FP32 there (H200, 3 channels to 16).
    return !(node.op == Op::conv_transpose && x.size() == 5 && x[1] < 16);
  }

  // Products that cuDNN is slow at, channels last: it copies every group out of the image by itself and back,
  // 40 % of a ShuffleNet's time; and from 1 GiB on it takes a kernel six times as slow as others (2.6 ms for
  // 128 x 32 x 256² to 64 filters on an H200). cuBLASLt takes them where every group starts at 16 bytes.
  bool stays_product(const Region& region) const {
    if (region.technique != "conv.pointwise") return false;
    const Node& node = *convolution_in(graph_, region);
    int64_t groups = node.attributes.integer("groups"), filters = graph_.type(node.results[0]).shape[1];
    bool alone = std::ranges::all_of(region.nodes, [&](int32_t n) {
      Op op = graph_.nodes[static_cast<size_t>(n)].op;
      return convolves(op) || op == Op::relu;
    });
    bool bias = node.operands.size() > 2 && node.operands[2] != ValueId::none;
    if (!alone || bias || channels_of_group(graph_, node) % 8 != 0 || filters / groups % 8 != 0) return false;
    constexpr int64_t large = int64_t{1} << 29;  // of two bytes each
    return groups > 1 || graph_.type(node.results[0]).elements() >= large;
  }

  bool follows(size_t r) const {
    const std::string& technique = plan_.regions[r].technique;
    return technique == "loop" || technique == "row" || technique == "batch_norm" ||
           technique == "conv.depthwise" || technique == "conv.split_half" || technique == "conv.transposed";
  }

  // Is the value's place ours to choose, and can everybody beside it take any?
  bool eligible(ValueId id) const {
    const TensorType& type = graph_.type(id);
    auto writer = writer_.find(id);
    if (writer == writer_.end() || fixed_.contains(id) || type.dtype != DType::f32 || type.rank() < 3 ||
        type.rank() > 5)
      return false;
    auto takes = [&](size_t r) { return chosen_.contains(r) || follows(r); };
    auto readers = readers_.find(id);
    return takes(writer->second) &&
           (readers == readers_.end() || std::ranges::all_of(readers->second, takes));
  }

  // Some kernels read and write one order: no tile of theirs turns one into the other.
  bool stays(const Region& region) const {
    if (region.writes.empty()) return false;
    if (region.technique == "conv.transposed") return true;
    if (region.technique == "conv.depthwise") {
      const Node& node = *convolution_in(graph_, region);
      bool direct = std::ranges::find(region.reads, node.operands[0]) != region.reads.end();
      return !direct || !eligible(node.operands[0]) || !eligible(region.writes[0]);
    }
    return std::ranges::any_of(region.nodes, [&](int32_t n) {
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      auto fixed = [&](ValueId id) {
        return !eligible(id) && graph_.type(id).rank() >= 3 &&
               graph_.type(id).elements() * 4 >= graph_.type(node.operands[0]).elements();
      };
      if (pools(node)) return std::ranges::any_of(region.reads, fixed);
      return walks_planes(node) &&
             (std::ranges::any_of(region.reads, fixed) || std::ranges::any_of(region.writes, fixed));
    });
  }
  // A norm walks planes where one of its images lies so, and would find a pixel's channels of this one in as
  // many places: 4.2 ms on an H200 for 480 channels of half a GB. What fits into L2 is found there again.
  bool is_found_in_planes(const Region& region, ValueId id) const {
    constexpr int64_t large = int64_t{48} << 20;
    if (region.technique != "batch_norm" && region.technique != "row") return false;
    if (graph_.type(id).elements() * (half_ ? 2 : 4) < large) return false;
    return std::ranges::any_of(region.reads, [&](ValueId other) {
      return other != id && graph_.type(other).shape == graph_.type(id).shape && !eligible(other);
    });
  }

  static bool pools(const Node& node) { return node.op == Op::max_pool || node.op == Op::avg_pool; }
  // Rows along anything but the channels.
  bool walks_planes(const Node& node) const {
    if (node.op == Op::layer_norm) return true;
    if (node.op != Op::softmax && node.op != Op::log_softmax) return false;
    int64_t rank = graph_.type(node.operands[0]).rank(), dim = node.attributes.integer("dim");
    return (dim < 0 ? dim + rank : dim) != 1;
  }

  void assign(Plan& plan) const {
    std::set<ValueId> last, planes;
    for (const Region& region : plan_.regions)
      if (stays(region)) {
        planes.insert(region.reads.begin(), region.reads.end());
        planes.insert(region.writes.begin(), region.writes.end());
      }
    for (const Region& region : plan_.regions)
      for (ValueId id : region.reads)
        if (is_found_in_planes(region, id)) planes.insert(id);
    std::vector<size_t> open(chosen_.begin(), chosen_.end());
    std::set<size_t> seen(chosen_.begin(), chosen_.end());
    while (!open.empty()) {
      const Region& region = plan_.regions[open.back()];
      open.pop_back();
      auto visit = [&](size_t r) {
        if (follows(r) && seen.insert(r).second) open.push_back(r);
      };
      for (const auto* ids : {&region.reads, &region.writes})
        for (ValueId id : *ids) {
          if (!eligible(id) || planes.contains(id)) continue;
          last.insert(id);
          visit(writer_.at(id));
          if (auto readers = readers_.find(id); readers != readers_.end())
            for (size_t r : readers->second) visit(r);
        }
    }
    for (ValueId id : last)
      plan.storage[index_of(id)] = {half_ && !keeps_bits(id) ? DType::f16 : DType::f32,
                                    channels_last_order(graph_.type(id).rank())};
    // Rounded here or by the convolutions that read it, or that wrote it: the same bits.
    for (ValueId id : planes)
      if (half_ && eligible(id) && (only_convolved(id) || is_rounded_already(id)))
        plan.storage[index_of(id)].dtype = DType::f16;
    // Exact until then: less than what TF32 loses before it multiplies.
    for (ValueId id : rounded_)
      if (half_ && !careful_ && eligible(id)) plan.storage[index_of(id)].dtype = DType::f16;
  }

  // What exact convolutions write and read, and no other reads: images have a mean, and what a batch norm
  // takes it out of would keep few of ten bits. Other convolutions round what they read to as many anyway.
  bool keeps_bits(ValueId id) const {
    const size_t writer = writer_.at(id);
    auto readers = readers_.find(id);
    if (!careful_ || chosen_.contains(writer) || readers == readers_.end()) return false;
    auto convolves_it = [&](size_t r) { return convolution_in(graph_, plan_.regions[r]) != nullptr; };
    return std::ranges::none_of(readers->second, [&](size_t r) { return chosen_.contains(r); }) &&
           (convolves_it(writer) || std::ranges::any_of(readers->second, convolves_it));
  }

  // As a library wrote it, in fp16: nothing was added.
  bool is_rounded_already(ValueId id) const {
    const size_t writer = writer_.at(id);
    if (!chosen_.contains(writer) || plan_.regions[writer].nodes.size() != 1) return false;
    const Node& node = *convolution_in(graph_, plan_.regions[writer]);
    return node.operands.size() < 3 || node.operands[2] == ValueId::none;
  }

  bool only_convolved(ValueId id) const {
    auto readers = readers_.find(id);
    return readers != readers_.end() &&
           std::ranges::all_of(readers->second, [&](size_t r) { return chosen_.contains(r); });
  }

  const Graph& graph_;
  const Plan& plan_;
  bool half_, careful_;
  std::set<size_t> chosen_;    // regions of convolutions
  std::set<ValueId> rounded_;  // results of transposed ones in FP32 where PyTorch has TF32
  std::map<ValueId, std::vector<size_t>> readers_;
  std::map<ValueId, size_t> writer_;
  std::set<ValueId> fixed_;  // the caller's
};

}  // namespace

namespace {

// From PyTorch's errors on an H200, in the 506 convolutions of KernelBench's 250 tasks: those over fewer than
// 16 channels, of groups of images, and transposed ones of 5 x 5 x 5 taps with strides run in FP32 though
// TF32 is allowed; one of 3 channels with filters of 11 x 11 doesn't. One tap with strides over 64 channels
// (ResNet-18's first shortcut) runs in FP32, too. It is wrong about ten: FP32 where few filters or few
// pixels follow (DenseNet's first 96 to 32, 160 to 960 at 7 x 7), TF32 for 7 x 7 filters
// over 3 channels and for a group of 320.
bool is_tf32_by_shape(const Graph& graph, const Node& convolution) {
  if (convolution.op == Op::conv_transpose) {
    const auto& stride = convolution.attributes.integers("stride");
    bool large = stride.size() == 3 && taps(graph, convolution) >= 125 && std::ranges::max(stride) > 1;
    return convolution.attributes.integer("groups") == 1 && !large;
  }
  int64_t channels = channels_of_group(graph, convolution);
  bool flat = graph.type(convolution.operands[0]).rank() == 4;
  if (flat && convolution.attributes.integer("groups") > 1) return false;
  bool strided = std::ranges::max(convolution.attributes.integers("stride")) > 1;
  if (strided && taps(graph, convolution) == 1 && channels <= 64) return false;
  return channels >= 16 || (flat && channels * taps(graph, convolution) >= 256);
}

// A batch norm in training gives its variances away: rounding a filter's weights shows there, however much
// noise other layers leave in the values. A bias in between changes no variance.
bool is_shown(const Graph& graph, const Node& convolution) {
  auto shows = [&](const Node& norm) {
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
    return node.op == Op::batch_norm && same.contains(node.operands[0]) && shows(node);
  });
}

// Classes in which PyTorch may use TF32 in convolutions, and decides for itself where it does.
bool follows_pytorch(const Plan& plan) { return plan.numerics == "default" || plan.numerics == "tf32"; }

}  // namespace

bool is_tf32_in_pytorch(const Graph& graph, const Plan& plan, int32_t convolution) {
  if (auto seen = plan.tf32.find(convolution); seen != plan.tf32.end()) return seen->second;
  return is_tf32_by_shape(graph, graph.nodes[static_cast<size_t>(convolution)]);
}

bool must_be_exact(const Graph& graph, const Plan& plan, int32_t convolution) {
  return follows_pytorch(plan) && !is_tf32_in_pytorch(graph, plan, convolution) &&
         is_shown(graph, graph.nodes[static_cast<size_t>(convolution)]);
}

std::set<int32_t> ten_bit_convolutions(const Graph& graph, const Plan& plan) {
  if (plan.numerics == "strict") return {};
  std::vector<bool> behind(graph.nodes.size()), before(graph.nodes.size());
  std::vector<int32_t> makers = producers(graph);
  std::vector<std::vector<int32_t>> readers = users(graph);
  auto certain = [&](size_t n) {
    return convolves(graph.nodes[n].op) &&
           (plan.numerics == "half" || is_tf32_in_pytorch(graph, plan, static_cast<int32_t>(n)));
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    behind[n] = certain(n);
    for (ValueId id : graph.nodes[n].operands)
      if (id != ValueId::none && makers[index_of(id)] >= 0 &&
          behind[static_cast<size_t>(makers[index_of(id)])])
        behind[n] = true;
  }
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    before[n] = certain(n);
    for (ValueId id : graph.nodes[n].results)
      for (int32_t reader : readers[index_of(id)])
        if (before[static_cast<size_t>(reader)]) before[n] = true;
  }
  std::set<int32_t> out;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (convolves(graph.nodes[n].op) && (behind[n] || before[n]) &&
        !must_be_exact(graph, plan, static_cast<int32_t>(n)))
      out.insert(static_cast<int32_t>(n));
  return out;
}

double rearranged_bytes(const Graph& graph, const Plan& plan, const Region& region) {
  const Node* node = convolution_in(graph, region);
  if (!node || region.technique != "conv.cudnn") return 0;
  double in = static_cast<double>(graph.type(node->operands[0]).elements()),
         out = static_cast<double>(graph.type(node->results[0]).elements());
  bool half = setting(region, "half") == 1, last = half || setting(region, "last") == 1;
  double bytes = half ? 2 : 4;
  if (!last) {
    // cuDNN's tensor cores take channels last: it turns planes into that and back.
    double turned = plan.numerics != "strict" ? 8 * (in + out) : 0;
    return turned + (needs_finishing(graph, region) ? 8 * out : 0);
  }
  auto ready = [&](ValueId id) {
    return plan.storage[index_of(id)].dtype == (half ? DType::f16 : DType::f32) && lies_last(graph, plan, id);
  };
  bool x_ready =
      std::ranges::find(region.reads, node->operands[0]) != region.reads.end() && ready(node->operands[0]);
  bool out_ready = ready(region.writes[0]);
  return (x_ready ? 0 : 2 * bytes * in) +
         (!out_ready || needs_finishing(graph, region) ? 2 * bytes * out : 0);
}

namespace {

// Few channels of the caller's images, and large results for the caller: all that cuDNN's product gains is
// lost to turning them. Ours takes planes as they are, at TF32's accuracy.
void keep_large_planes(const Graph& graph, Plan& plan, const Techniques& techniques) {
  constexpr int64_t few_channels = 16, large = int64_t{1} << 25;
  for (Region& region : plan.regions) {
    if (region.technique != "conv.cudnn" || setting(region, "half") == 0) continue;
    const Node& node = *convolution_in(graph, region);
    const TensorType& out = graph.type(node.results[0]);
    if (node.op != Op::conv || graph.type(node.operands[0]).shape[1] > few_channels ||
        node.attributes.integer("groups") != 1 || out.rank() < 4 || out.elements() < large)
      continue;
    if (lies_last(graph, plan, node.operands[0]) || lies_last(graph, plan, region.writes[0])) continue;
    if (!techniques.accepts("conv.split_half", graph, region)) continue;
    region.technique = "conv.split_half";
    region.settings = {{"half", 1}};
  }
}

}  // namespace

Result<Plan> store_half(const Graph& graph, Plan plan, const Techniques& techniques) {
  Plan out = Chooser(graph, plan, true, ten_bit_convolutions(graph, plan)).choose();
  keep_large_planes(graph, out, techniques);
  return out;
}

namespace {

// Convolutions behind which no other of these comes.
std::set<int32_t> last_of(const Graph& graph, const std::set<int32_t>& convolutions) {
  std::vector<std::vector<int32_t>> readers = users(graph);
  std::vector<bool> leads(graph.nodes.size());  // to one of them
  std::set<int32_t> out;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    bool further = false;
    for (ValueId id : graph.nodes[n].results)
      for (int32_t reader : readers[index_of(id)]) further |= leads[static_cast<size_t>(reader)];
    const bool own = convolutions.contains(static_cast<int32_t>(n));
    if (own && !further) out.insert(static_cast<int32_t>(n));
    leads[n] = own || further;
  }
  return out;
}

bool has_half(const Plan& plan) {
  return std::ranges::any_of(plan.regions, [](const Region& region) { return setting(region, "half") == 1; });
}

}  // namespace

Result<Plan> store_half_before_last(const Graph& graph, Plan plan, const Techniques& techniques) {
  // Running statistics show what every layer rounds, not what is left of it in the end.
  if (!follows_pytorch(plan) || !graph.updates.empty() || has_half(plan)) return plan;
  std::set<int32_t> ten_bits = ten_bit_convolutions(graph, plan);
  for (int32_t n : last_of(graph, ten_bits)) ten_bits.erase(n);
  if (ten_bits.empty()) return plan;
  Plan out = Chooser(graph, plan, true, ten_bits).choose();
  keep_large_planes(graph, out, techniques);
  return out;
}

Result<Plan> store_half_beside_exact(const Graph& graph, Plan plan, const Techniques& techniques) {
  // With half already, all of them lose bits, and a Verifier agreed.
  if (!follows_pytorch(plan) || has_half(plan)) return plan;
  std::set<int32_t> ten_bits;
  for (int32_t n = 0; n < std::ssize(graph.nodes); ++n)
    if (convolves(graph.nodes[static_cast<size_t>(n)].op) && is_tf32_in_pytorch(graph, plan, n))
      ten_bits.insert(n);
  if (ten_bits.empty()) return plan;
  for (Region& region : plan.regions) {
    const Node* node = convolution_in(graph, region);
    bool product = region.technique == "conv.pointwise";
    if (!node || (region.technique != "conv.cudnn" && !product)) continue;
    if (is_tf32_in_pytorch(graph, plan, static_cast<int32_t>(node - graph.nodes.data()))) continue;
    if (graph.type(node->operands[0]).shape[1] < 16 && !product &&
        techniques.accepts("conv.split_half", graph, region))
      region.technique = "conv.split_half";
    else
      region.settings["exact"] = 1;
  }
  return Chooser(graph, plan, true, ten_bits, true).choose();
}

Result<Plan> store_channels_last(const Graph& graph, Plan plan, const Techniques&) {
  return Chooser(graph, plan, false, ten_bit_convolutions(graph, plan)).choose();
}

}  // namespace stitch::plan
