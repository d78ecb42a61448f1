// rnn.cluster and rnn.persistent: recurrences whose weights stay in registers, in FP32's accuracy, so for
// every class. rnn.cluster: clusters of blocks exchange a layer's state through distributed shared memory
// (kernels/recurrence_cluster.h). Layers of one direction run at once, as a wavefront, if all their clusters
// fit; otherwise one after the other, each after a product of all its inputs. Chosen if its steps are
// expected to be shorter than those of rnn.persistent, which wait for L2: the whole recurrence by one
// resident kernel (kernels/recurrence_persistent.h), or one per layer if both directions run, since each
// layer then needs all steps of the one below.
#include "base/text.h"
#include "code/names.h"
#include "code/products/epilogue.h"
#include "code/products/recurrence/recurrence.h"
#include "code/products/recurrence/recurrence_spread.h"
#include "code/products/signature.h"
#include "code/products/techniques.h"

namespace stitch::code {

namespace {

// For one step of one layer. Beyond it tensor cores win: a guess, about twice the cost of a trip to L2 and
// back.
constexpr double most_clocks_a_cell = 6000;

// The region's recurrence, if its weights may stay in registers.
Result<Recurrence> recurrence_in_registers(const plan::Context& context, const plan::Region& region) {
  STITCH_CHECK(accepts_recurrence(context.graph, region));
  const Recurrence r = recurrence_sizes(context.graph, region);
  if (r.dtype != DType::f32) return not_for(region, "has recurrences of f32 only");
  if (r.projected) return not_for(region, "has no projections");
  if (r.steps * r.batch * r.input * r.hidden == 0) return not_for(region, "has no recurrence over nothing");
  return r;
}

Result<void> accepts_rnn_cluster(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Recurrence r, recurrence_in_registers(context, region));
  if (r.kind == "relu") return not_for(region, "is for states that can't grow");
  if (r.steps * r.batch * std::max(r.input, r.gates * r.hidden) >= int64_t{1} << 30)
    return not_for(region, "counts elements with 32 bits");
  if (!context.gpu.architecture.clusters()) return not_for(region, "needs a GPU with clusters of blocks");
  if (!clusters_of(r, context.gpu)) return not_for(region, "has no room for these weights in registers");
  return {};
}

bool suits_rnn_cluster(const plan::Context& context, const plan::Region& region, const plan::Offer&) {
  const Recurrence r = recurrence_sizes(context.graph, region);
  const auto clusters = clusters_of(r, context.gpu);
  const auto spread = spread_of(r, context.gpu);
  return clusters && (!spread || clusters->clocks < spread->clocks);
}

Result<void> accepts_rnn_persistent(const plan::Context& context, const plan::Region& region) {
  STITCH_TRY(const Recurrence r, recurrence_in_registers(context, region));
  const auto spread = spread_of(r, context.gpu);
  if (!spread) return not_for(region, "has no room for these weights in registers");
  if (spread->clocks > most_clocks_a_cell * static_cast<double>(r.steps * r.layers))
    return not_for(region, "is for steps that are short, and these are bound by arithmetic");
  return {};
}

// What the two kernels' regions differ in.
struct RegisterKernel {
  std::string_view header, idea, form;  // form: the struct that the call takes
  std::string_view workspace;           // its member for that
  int64_t workspace_bytes = 0;
  std::string sizes;  // the first template argument
  std::string fill;   // further members
  std::string_view member_type, member_name;
  std::string create;  // the member's arguments
  std::string_view call;
};

RegionCode write_register_kernel(const RegionRequest& request, const Recurrence& r,
                                 const RegisterKernel& kernel) {
  Signature signature("enqueue_" + request.name);
  const std::string sizes = type_name(request.name, "Sizes"),
                    form = format("stitch::{}<{}, {}>", kernel.form, sizes, r.weights.size());
  const std::string body = filled_struct(r, signature, form, kernel.workspace) + kernel.fill +
                           format("  r.sizes = {}{{}};\n", sizes);
  RegionCode code;
  const std::string member = format("{}_{}", request.name, kernel.member_name);
  code.members.push_back({format("stitch::{}", kernel.member_type),
                          member,
                          format("STITCH_OK_OR_RETURN({}.create({}));", member, kernel.create),
                          {}});
  code.includes = format("#include \"stitch/kernels/{}\"\n", kernel.header);
  code.declaration = signature.declaration();
  code.source = format("// {}\n// {}\n{}\n{} {{\n{}  return stitch::{}(r, stream);\n}}\n", describe(r),
                       kernel.idea, kernel.sizes, signature.head(), body, kernel.call);
  code.arguments = signature.arguments();
  code.workspace_bytes = kernel.workspace_bytes;
  return code;
}

// The beginning of a kernel's sizes.
std::string sizes_head(const Recurrence& r, const std::string& name) {
  return format(
      "struct {} {{\n  static constexpr auto kind = stitch::RecurrenceKind::{};\n"
      "  static constexpr int steps = {}, batch = {}, input = {}, hidden = {}, layers = {}, directions = "
      "{};\n",
      name, r.kind, r.steps, r.batch, r.input, r.hidden, r.layers, r.directions);
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

Result<RegionCode> write_rnn_cluster(const RegionRequest& request) {
  STITCH_TRY(const Recurrence r, recurrence_of(request));
  if (r.x.place->dtype != DType::f32) return not_for(request.region, "reads its input in f32");
  int64_t last = 0;
  for (size_t d = 0; d < r.x.shape.size(); ++d) last += (r.x.shape[d] - 1) * r.x.strides[d];
  if (last >= int64_t{1} << 31) return not_for(request.region, "counts elements with 32 bits");
  const Clusters c = *clusters_of(r, request.context.gpu);
  const std::string sizes = format(
      "{}  static constexpr int rows = {};  // steps · batch\n"
      "  static constexpr int64_t x_step = {}, x_sample = {}, x_feature = {};  // strides\n"
      "  static constexpr bool x_quads = {};\n"
      "  // Clusters of {} blocks, each for {} sample{} of a layer.\n"
      "  static constexpr int layers_at_once = {}, cluster = {}, samples = {};\n}};\n",
      sizes_head(r, type_name(request.name, "Sizes")), r.steps * r.batch, r.x.strides[0], r.x.strides[1],
      r.x.strides[2], r.x.strides[2] == 1 && r.x.strides[0] % 4 == 0 && r.x.strides[1] % 4 == 0, c.blocks,
      c.samples, c.samples > 1 ? "s" : "", c.layers_at_once, c.blocks, c.samples);
  return write_register_kernel(request, r,
                               {.header = "recurrence_cluster.h",
                                .idea = "Weights stay in registers for all steps of a layer; blocks of a "
                                        "cluster pass the state on through\n// each other's shared memory.",
                                .form = "ClusterRecurrence",
                                .workspace = "workspace",
                                .workspace_bytes = workspace_of(r, c),
                                .sizes = sizes,
                                .member_type = "ClusterBlocks",
                                .member_name = "clusters",
                                .call = "enqueue_cluster_recurrence"});
}

// Of PersistentRecurrence::exchange.
int64_t exchanged_bytes(const Recurrence& r, const Spread& s) {
  int64_t layers = s.layers_at_once < r.layers ? s.layers_at_once + 1 : r.layers;
  int64_t chunks = (r.batch + s.samples - 1) / s.samples;
  return layers * chunks * r.steps * r.directions * r.hidden * ((s.samples + 3) / 4 * 4) * 4;
}

Result<RegionCode> write_rnn_persistent(const RegionRequest& request) {
  STITCH_TRY(const Recurrence r, recurrence_of(request));
  if (r.x.place->dtype != DType::f32) return not_for(request.region, "reads its input in f32");
  const Spread s = *spread_of(r, request.context.gpu);
  const std::string sizes = format(
      "{}  // A block computes {} of {} units for {} samples; {} lanes share a unit's sums, {} unit{} a "
      "lane.\n"
      "  static constexpr int layers_at_once = {}, samples = {}, units = {}, units_each = {}, slices = {};\n"
      "  static constexpr int state_warps = {}, input_warps = {};  // that fetch\n}};\n",
      sizes_head(r, type_name(request.name, "Sizes")), s.units, r.hidden, s.samples, s.slices, s.units_each,
      s.units_each > 1 ? "s" : "", s.layers_at_once, s.samples, s.units, s.units_each, s.slices,
      s.state_warps, s.input_warps);
  return write_register_kernel(
      request, r,
      {.header = "recurrence_persistent.h",
       .idea = "Weights stay in registers for all steps; blocks pass the state on through L2.",
       .form = "PersistentRecurrence",
       .workspace = "exchange",
       .workspace_bytes = exchanged_bytes(r, s),
       .sizes = sizes,
       .fill = format("  r.x_step = {}, r.x_sample = {}, r.x_feature = {};\n", r.x.strides[0], r.x.strides[1],
                      r.x.strides[2]),
       .member_type = "ResidentBlocks",
       .member_name = "blocks",
       .create = format("{}", s.blocks(r)),
       .call = "enqueue_persistent_recurrence"});
}

}  // namespace

constinit const ProductTechnique rnn_cluster{{
    .name = "rnn.cluster",
    .idea = "weights stay in registers, thread block clusters exchange the state through distributed shared "
            "memory",
    .kind = plan::Kind::recurrence,
    .accepts = accepts_rnn_cluster,
    .write = write_rnn_cluster,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.15 * context.gpu.tensor_tf32, 0.7, 2};
    },
    .suits = suits_rnn_cluster,
    .latency =
        [](const plan::Context& context, const plan::Region& region) {
          return step_latency(context.graph, region, [](double steps, double layers, bool both) {
            return both || layers == 1 ? steps * layers * 0.7e-6 : (steps + 3 * layers) * 1.4e-6;
          });
        },
}};

constinit const ProductTechnique rnn_persistent{{
    .name = "rnn.persistent",
    .idea = "weights stay in registers, blocks exchange the state through L2",
    .kind = plan::Kind::recurrence,
    .accepts = accepts_rnn_persistent,
    .write = write_rnn_persistent,
    .rate = [](const plan::Context& context, const plan::Region&) -> plan::Rate {
      return {0.5 * context.gpu.fp32, 0.7, 2};
    },
    // Layers of one direction overlap as a wavefront; with both directions each waits for the one below.
    .latency =
        [](const plan::Context& context, const plan::Region& region) {
          return step_latency(context.graph, region, [](double steps, double layers, bool both) {
            return both ? steps * layers * 1.2e-6 : (steps + layers) * 1.8e-6;
          });
        },
}};

}  // namespace stitch::code
