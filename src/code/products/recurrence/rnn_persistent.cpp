// rnn.persistent: the whole recurrence by one resident kernel (kernels/recurrence_persistent.h), or one per
// layer if both directions run: each layer then needs all steps of the one below. Bound by each step's trip
// to L2, not by bytes. Exact FP32, so for every class. Chosen if the weights fit into the registers of all
// multiprocessors.
#include "base/text.h"
#include "code/names.h"
#include "code/products/epilogue.h"
#include "code/products/parts.h"
#include "code/products/recurrence/recurrence.h"
#include "code/products/recurrence/recurrence_spread.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

// For one step of one layer. Beyond it tensor cores win: a guess, about twice the cost of a trip to L2 and
// back.
constexpr double most_clocks_a_cell = 6000;

std::string sizes_struct(const Recurrence& r, const Spread& s, const std::string& name) {
  return format(
      "struct {} {{\n  static constexpr auto kind = stitch::RecurrenceKind::{};\n"
      "  static constexpr int steps = {}, batch = {}, input = {}, hidden = {}, layers = {}, directions = "
      "{};\n"
      "  // A block computes {} of {} units for {} samples; {} lanes share a unit's sums, {} unit{} a lane.\n"
      "  static constexpr int layers_at_once = {}, samples = {}, units = {}, units_each = {}, slices = {};\n"
      "  static constexpr int state_warps = {}, input_warps = {};  // that fetch\n}};\n",
      name, r.kind, r.steps, r.batch, r.input, r.hidden, r.layers, r.directions, s.units, r.hidden, s.samples,
      s.slices, s.units_each, s.units_each > 1 ? "s" : "", s.layers_at_once, s.samples, s.units, s.units_each,
      s.slices, s.state_warps, s.input_warps);
}

// As in PersistentSizes::exchanged_bytes.
int64_t exchanged_bytes(const Recurrence& r, const Spread& s) {
  int64_t layers = s.layers_at_once < r.layers ? s.layers_at_once + 1 : r.layers;
  int64_t chunks = (r.batch + s.samples - 1) / s.samples;
  return layers * chunks * r.steps * r.directions * r.hidden * ((s.samples + 3) / 4 * 4) * 4;
}

class RnnPersistent final : public ProductTechnique {
 public:
  std::string_view name() const override { return "rnn.persistent"; }
  std::string_view idea() const override {
    return "weights stay in registers, blocks exchange the state through L2";
  }
  plan::Kind kind() const override { return plan::Kind::recurrence; }
  plan::Rate rate(const plan::Context& context, const plan::Region&) const override {
    return {0.5 * context.gpu.fp32, 0.7, 2};
  }
  // Layers of one direction overlap as a wavefront; with both directions each waits for the one below.
  double latency(const plan::Context& context, const plan::Region& region) const override {
    return step_latency(context.graph, region, [](double steps, double layers, bool both) {
      return both ? steps * layers * 1.2e-6 : (steps + layers) * 1.8e-6;
    });
  }

 private:
  Result<void> accepts_region(const plan::Context& context, const plan::Region& region) const override;
  Result<RegionCode> write_region(const RegionRequest& request) const override;
};

}  // namespace

Result<void> RnnPersistent::accepts_region(const plan::Context& context, const plan::Region& region) const {
  const Graph& graph = context.graph;
  STITCH_CHECK(accepts_recurrence(graph, region));
  for (int32_t index : region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(index)];
    if (node.op != Op::rnn) continue;
    Recurrence r = sizes_of(graph, node);
    if (r.dtype != DType::f32) return not_for(region, "has recurrences of f32 only");
    if (r.projected) return not_for(region, "has no projections");
    if (r.steps * r.batch * r.input * r.hidden == 0) return not_for(region, "has no recurrence over nothing");
    auto spread = spread_of(r, context.gpu);
    if (!spread) return not_for(region, "has no room for these weights in registers");
    if (spread->clocks > most_clocks_a_cell * static_cast<double>(r.steps * r.layers))
      return not_for(region, "is for steps that are short, and these are bound by arithmetic");
  }
  return {};
}

Result<RegionCode> RnnPersistent::write_region(const RegionRequest& request) const {
  STITCH_TRY(Recurrence r, recurrence_of(request));
  if (r.x.place->dtype != DType::f32) return not_for(request.region, "reads its input in f32");
  Spread spread = *spread_of(r, request.context.gpu);

  Signature signature("enqueue_" + request.name);
  std::string sizes = type_name(request.name, "Sizes");
  std::string body = filled_struct(
      r, signature, format("stitch::PersistentRecurrence<{}, {}>", sizes, r.weights.size()), "exchange");
  body += format("  r.x_step = {}, r.x_sample = {}, r.x_feature = {};\n", r.x.strides[0], r.x.strides[1],
                 r.x.strides[2]);

  RegionCode code;
  std::string blocks = request.name + "_blocks";
  code.members.push_back({"stitch::ResidentBlocks",
                          blocks,
                          format("STITCH_OK_OR_RETURN({}.create({}));", blocks, spread.blocks(r)),
                          {}});
  code.includes = "#include \"stitch/kernels/recurrence_persistent.h\"\n";
  code.declaration = signature.declaration();
  code.source = format(
      "// {}\n// Weights stay in registers for all steps; blocks pass the state on through L2.\n{}\n{} {{\n{}"
      "  return stitch::enqueue_persistent_recurrence(r, stream);\n}}\n",
      describe(r), sizes_struct(r, spread, sizes), signature.head(), body);
  code.arguments = signature.arguments();
  code.workspace_bytes = exchanged_bytes(r, spread);
  return code;
}

const Technique& rnn_persistent() {
  static const RnnPersistent technique;
  return technique;
}

}  // namespace stitch::code
