// rnn.cluster: clusters of blocks exchange a layer's state through distributed shared memory
// (kernels/recurrence_cluster.h). Layers of one direction run at once, as a wavefront, if all their clusters
// fit; otherwise one after the other, each after a product of all its inputs. FP32 accuracy on tensor cores,
// so for every class. Chosen if weights fit into registers and its steps are expected to be shorter than
// those of rnn.persistent, which wait for L2.
#include "base/text.h"
#include "code/names.h"
#include "code/products/epilogue.h"
#include "code/products/recurrence/recurrence.h"
#include "code/products/recurrence/recurrence_clusters.h"
#include "code/products/recurrence/recurrence_spread.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

std::string cluster_struct(const Recurrence& r, const Clusters& c, const std::string& name) {
  return format(
      "struct {} {{\n  static constexpr auto kind = stitch::RecurrenceKind::{};\n"
      "  static constexpr int steps = {}, batch = {}, input = {}, hidden = {}, layers = {}, directions = "
      "{};\n"
      "  static constexpr int64_t x_step = {}, x_sample = {}, x_feature = {};  // strides\n"
      "  // Clusters of {} blocks, each for {} sample{} of a layer.\n"
      "  static constexpr int layers_at_once = {}, cluster = {}, samples = {};\n}};\n",
      name, r.kind, r.steps, r.batch, r.input, r.hidden, r.layers, r.directions, r.x.strides[0],
      r.x.strides[1], r.x.strides[2], c.blocks, c.samples, c.samples > 1 ? "s" : "", c.layers_at_once,
      c.blocks, c.samples);
}

// The gates' parts of all directions, a layer's states, and scales.
int64_t workspace_of(const Recurrence& r, const Clusters& c) {
  if (c.layers_at_once > 1) {
    const int64_t share = (r.steps * r.batch * r.gates * r.hidden + 3) / 4 * 4,
                  chunks = (r.batch + c.samples - 1) / c.samples,
                  state = (c.samples + 3) / 4 * ((r.hidden + 15) / 16) * 16;  // as in ClusterSizes
    return 4 * share + 16 * (r.layers - 1) * chunks * r.steps * state;
  }
  const int64_t magnitudes = r.layers * (r.directions + 1);
  return 4 * (r.steps * r.batch * r.directions * r.hidden * (r.gates + (r.layers > 1 ? 1 : 0)) + magnitudes);
}

class RnnCluster final : public ProductTechnique {
 public:
  std::string_view name() const override { return "rnn.cluster"; }
  std::string_view idea() const override {
    return "weights stay in registers, thread block clusters exchange the state through distributed shared "
           "memory";
  }
  plan::Kind kind() const override { return plan::Kind::recurrence; }
  bool suits(const plan::Context& context, const plan::Region& region, const plan::Offer&) const override;
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {0.15 * context.gpu.tensor_tf32, 0.7, 2};
  }
  double latency(const plan::Context& context, const plan::Region& region) const override {
    return step_latency(context.graph, region, [](double steps, double layers, bool both) {
      return both || layers == 1 ? steps * layers * 0.7e-6 : (steps + 3 * layers) * 1.4e-6;
    });
  }

 private:
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override;
};

}  // namespace

Result<void> RnnCluster::accepts_region(const plan::Context& context, const plan::Region& region) const {
  const Graph& graph = context.graph;
  STITCH_CHECK(accepts_recurrence(graph, region));
  for (int32_t index : region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(index)];
    if (node.op != Op::rnn) continue;
    Recurrence r = sizes_of(graph, node);
    if (r.dtype != DType::f32) return not_for(region, "has recurrences of f32 only");
    if (r.projected) return not_for(region, "has no projections");
    if (r.kind == "relu") return not_for(region, "is for states that can't grow");
    if (r.steps * r.batch * r.input * r.hidden == 0) return not_for(region, "has no recurrence over nothing");
    if (r.steps * r.batch * std::max(r.input, r.gates * r.hidden) >= int64_t{1} << 30)
      return not_for(region, "counts elements with 32 bits");
    if (!context.gpu.architecture.clusters()) return not_for(region, "needs a GPU with clusters of blocks");
    if (!clusters_of(r, context.gpu)) return not_for(region, "has no room for these weights in registers");
  }
  return {};
}

bool RnnCluster::suits(const plan::Context& context, const plan::Region& region, const plan::Offer&) const {
  for (int32_t index : region.nodes) {
    const Node& node = context.graph.nodes[static_cast<size_t>(index)];
    if (node.op != Op::rnn) continue;
    const Recurrence r = sizes_of(context.graph, node);
    const auto clusters = clusters_of(r, context.gpu);
    const auto spread = spread_of(r, context.gpu);
    return clusters && (!spread || clusters->clocks < spread->clocks);
  }
  return false;
}

Result<RegionCode> RnnCluster::write_region(const RegionRequest& request) const {
  STITCH_TRY(Recurrence r, recurrence_of(request));
  if (r.x.place->dtype != DType::f32) return not_for(request.region, "reads its input in f32");
  int64_t last = 0;
  for (size_t d = 0; d < r.x.shape.size(); ++d) last += (r.x.shape[d] - 1) * r.x.strides[d];
  if (last >= int64_t{1} << 31) return not_for(request.region, "counts elements with 32 bits");
  const Clusters clusters = *clusters_of(r, request.context.gpu);

  Signature signature("enqueue_" + request.name);
  std::string sizes = type_name(request.name, "Sizes");
  std::string body = filled_struct(
      r, signature, format("stitch::ClusterRecurrence<{}, {}>", sizes, r.weights.size()), "workspace");

  RegionCode code;
  std::string member = request.name + "_clusters";
  code.members.push_back(
      {"stitch::ClusterBlocks", member, format("STITCH_OK_OR_RETURN({}.create());", member), {}});
  code.includes = "#include \"stitch/kernels/recurrence_cluster.h\"\n";
  code.declaration = signature.declaration();
  code.source = format(
      "// {}\n// Weights stay in registers for all steps of a layer; blocks of a cluster pass the state on "
      "through\n// each other's shared memory.\n{}\n{} {{\n{}"
      "  return stitch::enqueue_cluster_recurrence(r, stream);\n}}\n",
      describe(r), cluster_struct(r, clusters, sizes), signature.head(), body);
  code.arguments = signature.arguments();
  code.workspace_bytes = workspace_of(r, clusters);
  return code;
}

const Technique& rnn_cluster() {
  static const RnnCluster technique;
  return technique;
}

}  // namespace stitch::code
