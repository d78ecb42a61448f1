#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/buckets.h"
#include "plan/document/document.h"

namespace stitch::plan {

namespace {

Result<void> check_offer(const Context& context, const Region& region) {
  const Technique& technique = *region.technique;
  const std::vector<Offer> offers = technique.offers(context, region);
  if (std::ranges::find(offers, region.offer) != offers.end()) return {};
  std::vector<std::string> each;
  for (const Offer& offer : offers)
    each.push_back(format("{} {}", name(offer.arithmetic), name(offer.order)));
  return at_region(region,
                   format("{} doesn't offer {} {} here", technique.name(), name(region.offer.arithmetic),
                          name(region.offer.order)),
                   "one of: " + join(each, ", "));
}

Result<void> check_choices(const Context& context, const Region& region) {
  const std::vector<Knob> knobs = region.technique->knobs(context, region);
  for (const auto& [knob, value] : region.choices) {
    auto found = std::ranges::find(knobs, knob, &Knob::name);
    if (found == knobs.end()) {
      std::vector<std::string> names;
      for (const Knob& each : knobs) names.push_back(each.name);
      return at_region(region,
                       format("{} has no knob '{}'", region.technique->name(), shorten(printable(knob), 60)),
                       names.empty() ? "it has none: remove it" : "one of: " + join(names, ", "));
    }
    if (std::ranges::find(found->values, value) == found->values.end())
      return at_region(region, format("{} can't be {} here", knob, value),
                       "one of: " + join(found->values, ", "));
  }
  return {};
}

// Only FP32 may be stored in fewer bits than the graph says.
Result<void> check_storage(const Context& context, const Plan& plan, const Region& region) {
  for (ValueId id : region.writes) {
    const DType own = context.graph.type(id).dtype, stored = plan.storage[index_of(id)].dtype;
    if (own == stored) continue;
    const bool result =
        std::ranges::find(context.graph.outputs, id) != context.graph.outputs.end() ||
        std::ranges::find(context.graph.updates, id, &Update::value) != context.graph.updates.end();
    if (result || own != DType::f32 || (stored != DType::f16 && stored != DType::bf16))
      return at_region(
          region, format("writes '{}', which is {}, as {}", context.graph[id].name, name(own), name(stored)),
          result ? "results are the caller's: their dtype is the graph's"
                 : "f32 may be stored as f16 or bf16, other types only as they are");
  }
  return {};
}

Result<void> check_way(const Context& context, const Plan& plan, const Region& region) {
  const Technique& technique = *region.technique;
  if (technique.kind() != Kind::any && technique.kind() != kind_of(context.graph, region))
    return at_region(region, format("{} is for other nodes than these", technique.name()));
  if (region.source && !technique.takes_source())
    return at_region(region, format("{} writes its code itself", technique.name()),
                     "remove the source, or name a technique that takes one");
  if (auto accepted = technique.accepts(context, region); !accepted)
    return at_region(region, accepted.error().message, "another technique, or other nodes");
  STITCH_CHECK(check_offer(context, region));
  STITCH_CHECK(check_choices(context, region));
  STITCH_CHECK(check_storage(context, plan, region));
  if (auto accepted = technique.accepts_storage(context, plan, region); !accepted)
    return at_region(region, accepted.error().message, "another dtype or order for what it reads or writes");
  if (auto written = technique.can_write(context, plan, region); !written)
    return at_region(region, written.error().message, "another technique, or other orders for its values");
  return {};
}

}  // namespace

Result<void> check_whole(const Context& context, const Plan& plan) {
  STITCH_CHECK(check(context.graph, plan));
  for (const Region& region : plan.regions) {
    STITCH_CHECK(check_way(context, plan, region));
    for (const Variant& variant : region.variants) {
      Region as = region;
      as.variants = {variant};
      STITCH_TRY(const auto instances, instances_of(context, region, variant));
      const Context at = context.of(instances);
      STITCH_CHECK(check_way(at, plan, as.at(at.sizes())));
    }
  }
  return {};
}

Json plan_schema(const Catalogue& catalogue) {
  Json techniques = Json::array();
  for (const Technique* technique : catalogue.all())
    techniques.push_back({{"const", technique->name()}, {"description", technique->idea()}});
  auto list_of = [](Json item) { return Json{{"type", "array"}, {"items", std::move(item)}}; };
  auto text = [](const char* about) { return Json{{"type", "string"}, {"description", about}}; };
  auto words = [](const char* about, std::vector<std::string> choices) {
    return Json{{"enum", std::move(choices)}, {"description", about}};
  };
  auto object = [](Json properties, std::vector<std::string> required) {
    return Json{{"type", "object"},
                {"properties", std::move(properties)},
                {"required", std::move(required)},
                {"additionalProperties", false}};
  };
  const Json number = {{"type", "number"}}, integer = {{"type", "integer"}};
  const Json slot = object({{"value", text("a value of the graph")},
                            {"dtype", text("as it is stored: the graph's, or f16 or bf16 for f32")},
                            {"shape", list_of(integer)},
                            {"order", list_of(integer)}},
                           {"value", "dtype"});
  const Json choices = {
      {"type", "object"},
      {"description", "knobs whose value isn't the technique's own; `knobs` lists the legal ones"},
      {"additionalProperties", integer}};
  const Json source = object({{"function", text("that the text defines, with the region's contract")},
                              {"text", text("CUDA C++")},
                              {"author", text("")},
                              {"workspace_bytes", integer}},
                             {"function", "text"});
  const Json arithmetic = words("how it multiplies", {"by_class", "exact", "half", "half_exact_bias"}),
             order = words("in which it takes images", {"row_major", "channels_last"});
  const Json variant = object({{"measure", text("a formula of sizes that change from call to call")},
                               {"least", integer},
                               {"most", integer},
                               {"technique", {{"oneOf", techniques}}},
                               {"arithmetic", arithmetic},
                               {"order", order},
                               {"choices", choices}},
                              {"measure", "technique", "arithmetic", "order", "choices"});
  const Json region =
      object({{"name", text("unique in the plan")},
              {"technique", {{"oneOf", techniques}}},
              {"arithmetic", arithmetic},
              {"order", order},
              {"choices", choices},
              {"source", source},
              {"nodes", list_of(text("a node, by its first result"))},
              {"reads", list_of(slot)},
              {"writes", list_of(slot)},
              {"variants", list_of(variant)},
              {"section", integer},
              {"branch", integer},
              {"knobs", {{"type", "object"}, {"description", "what could be chosen; not read"}}},
              {"estimated_start_seconds", number},
              {"estimated_seconds", number},
              {"bytes", number},
              {"flops", number},
              {"error_share", number}},
             {"name", "technique", "arithmetic", "order", "choices", "nodes", "reads", "writes"});
  const Json step = object({{"title", text("")},
                            {"why", text("")},
                            {"regions", list_of(text("as they are after the step"))},
                            {"predicted_gain_seconds", number}},
                           {"title", "why", "regions", "predicted_gain_seconds"});
  Json out = object(
      {{"stitch_plan", {{"const", 2}}},
       {"model", text("")},
       {"graph", text("SHA-256 of the graph's text: the plan is for this graph only")},
       {"class", words("the numerics class", {"strict", "default", "tf32", "half"})},
       {"gpu", text("the GPU it is for")},
       {"one_graph", {{"type", "boolean"}, {"description", "replay the whole pass as one CUDA graph"}}},
       {"pytorch_tf32", {{"type", "object"}, {"additionalProperties", {{"type", "boolean"}}}}},
       {"sizes",
        object(
            {{"planned_at", {{"type", "object"}, {"description", "the sizes that the graph has"}}},
             {"folded_elements", integer},
             {"borders",
              {{"type", "array"}, {"description", "of variants: a measure and the largest below; not read"}}},
             {"estimates",
              {{"type", "array"},
               {"description",
                "seconds of a call at sizes across the ranges, beside PyTorch's and the floor; not read"}}},
             {"ranges", list_of(object({{"name", text("of a size that changes from call to call")},
                                        {"least", integer},
                                        {"most", integer},
                                        {"multiple", integer}},
                                       {"name", "least", "most", "multiple"}))}},
            {"planned_at", "folded_elements", "ranges"})},
       {"estimated_seconds", number},
       {"pytorch_estimated_seconds",
        {{"type", "object"}, {"description", "PyTorch's time a call by the same cost model; not read"}}},
       {"error", {{"type", "object"}, {"description", "of what the class allows; measured, not read"}}},
       {"steps", list_of(step)},
       {"regions", list_of(region)}},
      {"stitch_plan", "graph", "class", "gpu", "one_graph", "pytorch_tf32", "steps", "regions"});
  out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  out["title"] = "A StitchCUDA plan";
  return out;
}

}  // namespace stitch::plan
