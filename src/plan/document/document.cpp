#include "plan/document/document.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/digest/sha256.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "gpu/floor.h"
#include "graph/cost.h"
#include "graph/text.h"
#include "plan/buckets.h"
#include "plan/cost/estimate.h"
#include "plan/cost/pytorch.h"
#include "plan/precision/error_budget.h"

namespace stitch::plan {

const std::string& node_name(const Graph& graph, int32_t node) {
  return graph[graph.node(node).results[0]].name;
}

// What is computed, not which line of the model asked for it.
std::string graph_hash(const Graph& graph) {
  Graph bare = graph;
  for (Node& node : bare.nodes) node.where.clear(), node.module.clear();
  return sha256(print_graph(bare));
}

namespace {

std::string ops_of(const Graph& graph, const Region& region) {
  std::vector<std::string> ops;
  for (int32_t n : region.nodes) ops.emplace_back(info(graph.node(n).op).name);
  return join(ops, " ");
}

// A contract: each value with its type and the order of its dimensions, outermost first.
Json slots(const Graph& graph, const Plan& plan, const std::vector<ValueId>& ids) {
  Json out = Json::array();
  for (ValueId id : ids) {
    const Storage& storage = plan.storage[index_of(id)];
    Json slot = {{"value", graph[id].name}, {"dtype", name(storage.dtype)}, {"shape", graph.type(id).shape}};
    if (!storage.order.empty()) slot["order"] = storage.order;
    out.push_back(std::move(slot));
  }
  return out;
}

// The alternatives, for people who edit the document.
Json knobs_of(const Context& context, const Region& region) {
  Json out = Json::object();
  for (const Knob& knob : region.technique->knobs(context, region))
    out[knob.name] = {{"meaning", knob.meaning}, {"values", knob.values}};
  return out;
}

Json region_json(const Context& context, const Plan& plan, size_t number, const Schedule::Entry& when,
                 const std::optional<PlanErrors>& errors) {
  const Region& region = plan.regions[number];
  const Graph& graph = context.graph;
  const RegionEstimate cost = estimate(context, plan, region);
  Json nodes = Json::array();
  for (int32_t n : region.nodes) nodes.push_back(node_name(graph, n));
  Json out = {{"name", region.name},
              {"technique", region.technique->name()},
              {"arithmetic", name(region.offer.arithmetic)},
              {"order", name(region.offer.order)},
              {"choices", region.choices},
              {"nodes", nodes},
              {"reads", slots(graph, plan, region.reads)},
              {"writes", slots(graph, plan, region.writes)}};
  if (out["choices"].is_null()) out["choices"] = Json::object();
  if (region.source)
    out["source"] = {{"function", region.source->function},
                     {"text", region.source->text},
                     {"author", region.source->author},
                     {"workspace_bytes", region.source->workspace_bytes}};
  for (const Variant& each : region.variants) {
    Json variant = {{"measure", each.measure},
                    {"technique", each.technique->name()},
                    {"arithmetic", name(each.offer.arithmetic)},
                    {"order", name(each.offer.order)},
                    {"choices", each.choices}};
    if (each.least > 0) variant["least"] = each.least;
    if (each.most < std::numeric_limits<int64_t>::max()) variant["most"] = each.most;
    out["variants"].push_back(std::move(variant));
  }
  if (region.section > 0) out.update(Json{{"section", region.section}, {"branch", region.branch}});
  out.update(Json{{"knobs", knobs_of(context, region)},
                  {"estimated_start_seconds", when.start},
                  {"estimated_seconds", when.seconds},
                  {"bytes", cost.bytes},
                  {"flops", cost.flops}});
  if (errors) out["error_share"] = errors->share(number);
  return out;
}

Json sizes_json(const Context& context, const Plan& plan) {
  const Instances& instances = *context.instances;
  Json out = {{"planned_at", instances.all[0].sizes},
              {"folded_elements", instances.limits.folded_elements},
              {"ranges", Json::array()},
              {"estimates", Json::array()}};
  for (const Border& each : borders_of(plan)) out["borders"].push_back({each.measure, each.most});
  for (const Context& each : context.across())
    out["estimates"].push_back(
        {{"sizes", each.sizes()},
         {"seconds", estimate(each, at_sizes(plan, each.sizes()))},
         {"pytorch_seconds", estimate_pytorch(each.graph, context.gpu, plan.numerics).eager_graph},
         {"floor_seconds", floor_of(each.graph, cost(each.graph), context.gpu).seconds()}});
  for (const Dimension& each : instances.dimensions)
    out["ranges"].push_back(
        {{"name", each.name}, {"least", each.least}, {"most", each.most}, {"multiple", each.multiple}});
  return out;
}

}  // namespace

Json to_json(const Context& context, const Plan& plan) {
  const Graph& graph = context.graph;
  const Schedule when = schedule(context, plan);
  Json json = {{"stitch_plan", plan_version},
               {"model", graph.name},
               {"graph", graph_hash(graph)},
               {"class", name(plan.numerics)},
               {"gpu", context.gpu.name},
               {"one_graph", plan.one_graph},
               {"pytorch_tf32", Json::object()},
               {"estimated_seconds", when.seconds},
               {"pytorch_estimated_seconds", to_json(estimate_pytorch(graph, context.gpu, plan.numerics))},
               {"steps", Json::array()},
               {"regions", Json::array()}};
  if (context.takes_sizes()) json["sizes"] = sizes_json(context, plan);
  for (const auto& [node, tf32] : context.torch.tf32) json["pytorch_tf32"][node_name(graph, node)] = tf32;
  for (const Step& step : plan.steps)
    json["steps"].push_back({{"title", step.title},
                             {"why", step.why},
                             {"regions", step.regions},
                             {"predicted_gain_seconds", step.predicted_gain}});
  const std::optional<PlanErrors> errors = errors_of(context, plan);
  for (size_t r = 0; r < plan.regions.size(); ++r)
    json["regions"].push_back(region_json(context, plan, r, when.regions[r], errors));
  if (errors && !errors->groups.empty())
    json["error"] = {{"spent", errors->spent()},
                     {"pytorch", std::sqrt(context.torch.errors->pytorch[errors->group()])},
                     {"of", context.torch.errors->groups[errors->group()]},
                     {"unknown", errors->unknown}};
  return json;
}

std::string text(const Context& context, const Plan& plan, const Terminal& terminal) {
  const Graph& graph = context.graph;
  const Schedule when = schedule(context, plan);
  const PyTorchEstimate pytorch = estimate_pytorch(graph, context.gpu, plan.numerics);
  std::string out = format(
      "{}, class {}, estimated for {}: {} a call in {} regions; PyTorch {} in a CUDA graph, {} eager\n\n",
      graph.name, name(plan.numerics), context.gpu.name, seconds_text(when.seconds), plan.regions.size(),
      seconds_text(pytorch.eager_graph), seconds_text(pytorch.eager));
  Table steps({{.header = "step"},
               {.header = "regions", .align = Column::Align::right},
               {.header = "predicted gain", .align = Column::Align::right},
               {.header = "why", .least = 20, .wrap = true}});
  for (const Step& step : plan.steps)
    steps.add_row({step.title,
                   std::to_string(step.regions.size()),
                   gain_text(step.predicted_gain, when.seconds),
                   {step.why, Style::dim}});
  if (!steps.empty()) out += steps.render(terminal) + '\n';
  Table regions({{.header = "region", .least = 12},
                 {.header = "technique"},
                 {.header = "estimate", .align = Column::Align::right},
                 {.header = "bound by", .optional = 2},
                 {.header = "error", .align = Column::Align::right, .optional = 4},
                 {.header = "moved", .align = Column::Align::right, .optional = 1},
                 {.header = "beside", .optional = 3},
                 {.header = "ops", .least = 20}});
  const std::optional<PlanErrors> errors = errors_of(context, plan);
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    RegionEstimate cost = estimate(context, plan, region);
    const char* bound = cost.launch > std::max(cost.memory, cost.compute) ? "launch"
                        : cost.memory > cost.compute                      ? "memory"
                                                                          : "arithmetic";
    std::string technique(region.technique->name());
    for (const Variant& each : region.variants)
      technique += format(", {} where {}", each.technique->name(), borders_text(each));
    regions.add_row({region.name,
                     technique,
                     when.regions[r].seconds > 0 ? seconds_text(when.regions[r].seconds) : "at create",
                     bound,
                     errors ? format("{:.0f} %", 100 * errors->share(r)) : "",
                     bytes_text(cost.bytes),
                     region.section > 0 ? format("{}.{}", region.section, region.branch + 1) : "",
                     {ops_of(graph, region), Style::dim}});
  }
  if (errors)
    out += format("error: {:.0f} % of what the class allows, by measured shares\n\n", 100 * errors->spent());
  return out + regions.render(terminal);
}

}  // namespace stitch::plan
