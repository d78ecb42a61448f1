#include "code/loops/techniques.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/format.h"
#include "code/loops/kernel.h"
#include "code/loops/loop.h"
#include "code/loops/scatter.h"
#include "code/names.h"
#include "plan/cost/estimate.h"

namespace stitch::code::loops {

namespace {

class LoopTechnique : public Technique {
 public:
  using Accepts = Result<void> (*)(const plan::Context&, const plan::Region&);
  using Write = Result<RegionCode> (*)(const RegionRequest&);
  LoopTechnique(std::string_view name, std::string_view idea, Accepts accepts, Write write)
      : name_(name), idea_(idea), accepts_(accepts), write_(write) {}

  std::string_view name() const override { return name_; }
  std::string_view idea() const override { return idea_; }
  plan::Kind kind() const override { return plan::Kind::loop; }
  plan::Entry entry() const override { return plan::Entry::plain; }
  Result<void> accepts(const plan::Context& context, const plan::Region& region) const override {
    return accepts_(context, region);
  }
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {context.gpu.fp32, plan::streaming_share, 1};
  }
  std::vector<plan::Knob> knobs(const plan::Context&, const plan::Region&) const override {
    return {{"threads", "threads per block", {32, 64, 128, 256, 512, 1024}, false}};
  }
  // By generating the kernels.
  std::optional<plan::Traffic> traffic(const plan::Context& context,
                                       const plan::Region& region) const override {
    auto code = write(request_alone(context, region));
    if (!code) return std::nullopt;
    return plan::Traffic{code->moved_bytes, code->kernels};
  }

  Result<RegionCode> write(const RegionRequest& request) const override {
    RegionRequest inner = request;
    Names names;
    std::map<std::string, std::string> given;  // actual pointer names, by the region's own
    for (auto* places : {&inner.reads, &inner.weights, &inner.writes})
      for (Place& place : *places) {
        std::string name = identifier(place.pointer);
        if (own_names().contains(name)) name += "_data";
        name = names.unique(name);
        given[name] = std::exchange(place.pointer, name);
      }
    STITCH_TRY(RegionCode code, write_(inner));
    auto as_given = [&](std::vector<std::string>& arguments) {
      for (std::string& argument : arguments)
        if (auto found = given.find(argument); found != given.end()) argument = found->second;
    };
    as_given(code.arguments);
    for (Prepared& prepared : code.prepared) as_given(prepared.make.arguments);
    for (Packed& packed : code.packed)
      if (packed.fill) as_given(packed.fill->arguments);
    return code;
  }

 private:
  std::string_view name_, idea_;
  Accepts accepts_;
  Write write_;
};

bool is_pool(const Node& node) { return node.op == Op::max_pool || node.op == Op::avg_pool; }

// Rows along dimensions other than channels.
bool walks_spatial_rows(const Graph& graph, const Node& node) {
  if (node.op == Op::layer_norm) return true;
  if (node.op != Op::softmax && node.op != Op::log_softmax) return false;
  int64_t rank = graph.type(node.operands[0]).rank(), dim = node.attributes.integer("dim");
  return (dim < 0 ? dim + rank : dim) != 1;
}

// Kernels whose threads share a window or a row read and write one layout: they don't transpose.
bool keeps_one_order(const Graph& graph, const plan::Region& region, const plan::Movable& movable) {
  if (region.writes.empty()) return false;
  return std::ranges::any_of(region.nodes, [&](int32_t n) {
    const Node& node = graph.node(n);
    auto fixed = [&](ValueId id) {
      return !movable(id) && graph.type(id).rank() >= 3 &&
             graph.type(id).elements() * 4 >= graph.type(node.operands[0]).elements();
    };
    if (is_pool(node)) return std::ranges::any_of(region.reads, fixed);
    return walks_spatial_rows(graph, node) &&
           (std::ranges::any_of(region.reads, fixed) || std::ranges::any_of(region.writes, fixed));
  });
}

// Element-wise kernels read every value in its own layout.
class ElementWise : public LoopTechnique {
 public:
  using LoopTechnique::LoopTechnique;
  bool is_elementwise() const override { return true; }
  bool takes_any_order() const override { return true; }
  std::vector<ValueId> row_major_values(const plan::Context& context, const plan::Region& region,
                                        const plan::Movable& movable, int64_t) const override {
    if (keeps_one_order(context.graph, region, movable)) return plan::reads_and_writes(region);
    return {};
  }
};

class Rows : public LoopTechnique {
 public:
  // `kernels`: the usual number of launches.
  Rows(std::string_view name, std::string_view idea, Accepts accepts, Write write, int kernels)
      : LoopTechnique(name, idea, accepts, write), kernels_(kernels) {}
  bool takes_any_order() const override { return true; }
  std::vector<plan::Knob> knobs(const plan::Context& context, const plan::Region& region) const override {
    std::vector<plan::Knob> out = LoopTechnique::knobs(context, region);
    out.push_back({"team", "1: several blocks share a row through their shared memory", {0, 1}});
    return out;
  }
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {context.gpu.fp32, 0.75, static_cast<double>(kernels_)};
  }
  // A norm walks NCHW if one of its images has that layout, and the channels of an NHWC pixel would be
  // scattered: 4.2 ms on an H200 for 480 channels of half a GB. Data that fits into L2 doesn't matter.
  std::vector<ValueId> row_major_values(const plan::Context& context, const plan::Region& region,
                                        const plan::Movable& movable, int64_t element_bytes) const override {
    const Graph& graph = context.graph;
    if (keeps_one_order(graph, region, movable)) return plan::reads_and_writes(region);
    std::vector<ValueId> out;
    for (ValueId id : region.reads) {
      if (static_cast<double>(graph.type(id).elements() * element_bytes) < context.gpu.l2) continue;
      if (std::ranges::any_of(region.reads, [&](ValueId other) {
            return other != id && graph.type(other).shape == graph.type(id).shape && !movable(other);
          }))
        out.push_back(id);
    }
    return out;
  }

 private:
  int kernels_;
};

class Grouped : public LoopTechnique {
 public:
  using LoopTechnique::LoopTechnique;
  plan::Rate rate(const plan::Context& context, const plan::Region& region) const override {
    constexpr double reached = 0.35;  // of the tensor cores' rate, by tiles fed from shared memory
    if (region.nodes.size() != 1 || !groups_in_tiles(context, region))
      return LoopTechnique::rate(context, region);
    const Node& node = context.graph.node(region.nodes[0]);
    const bool single = context.graph.type(node.operands[0]).dtype == DType::f32;
    return {reached * (single ? context.gpu.tensor_tf32 / 3 : context.gpu.tensor_fp16), plan::streaming_share,
            1};
  }
};

}  // namespace

const Technique& loop() {
  static const ElementWise technique(
      "loop",
      "one thread per element or vector: pointwise, views, movement, gathers, windows, small reductions",
      accepts_loop, write_loop);
  return technique;
}

const Technique& batch_norm() {
  static const Rows technique(
      "batch_norm", "partial statistics per channel over parts of the batch, then one pass that normalises",
      accepts_batch_norm, write_batch_norm, 2);
  return technique;
}

const Technique& row() {
  static const Rows technique(
      "row",
      "lanes, a block or columns of threads share a row: reductions, softmax, norms, and what is around them",
      accepts_row, write_row, 1);
  return technique;
}

const Technique& scan() {
  static const LoopTechnique technique(
      "scan",
      "a block along each row with a carry, or a thread along each column: running sums, products, extremes",
      accepts_scan, write_scan);
  return technique;
}

const Technique& scatter() {
  static const LoopTechnique technique("scatter", "each result element gathers the sources that target it",
                                       accepts_scatter, write_scatter);
  return technique;
}

const Technique& sort() {
  static const LoopTechnique technique(
      "sort", "a bitonic network over each row, in shared or in device memory", accepts_sort, write_sort);
  return technique;
}

const Technique& factor() {
  static const LoopTechnique technique("factor",
                                       "a block takes a matrix apart: LU, Cholesky, QR, triangular systems",
                                       accepts_factor, write_factor);
  return technique;
}

const Technique& grouped() {
  static const Grouped technique("grouped", "grouped products: tiles of each group's rows on tensor cores",
                                 accepts_grouped, write_grouped);
  return technique;
}

Result<const Technique*> classify(const plan::Context& context, const plan::Region& region) {
  Error last = work_error("technique", format("{}: no nodes", region.name));
  for (const Technique* each :
       {&loop(), &batch_norm(), &row(), &scan(), &scatter(), &sort(), &factor(), &grouped()}) {
    auto accepted = each->accepts(context, region);
    if (accepted) return each;
    last = accepted.error();
  }
  return last;
}

}  // namespace stitch::code::loops
