#include "agents/llm/llm_plan_answer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/document/edit.h"

namespace stitch::agents {

namespace {

Json object(Json properties, std::vector<std::string> required) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

template <class Enum>
Result<Enum> parse(const Json& value, std::initializer_list<Enum> all) {
  for (Enum each : all)
    if (plan::name(each) == value.get<std::string>()) return each;
  return user_error("plan", format("there is no '{}'", shorten(printable(value.get<std::string>()), 40)));
}

Result<plan::Implementation> implementation_of(const Json& change) {
  plan::Implementation out{.technique = change.value("technique", std::string())};
  if (change.contains("arithmetic") || change.contains("order")) {
    plan::Offer offer;
    using plan::Arithmetic;
    if (change.contains("arithmetic")) {
      STITCH_TRY(offer.arithmetic,
                 parse(change["arithmetic"], {Arithmetic::by_class, Arithmetic::exact, Arithmetic::half,
                                              Arithmetic::half_exact_bias}));
    }
    if (change.contains("order")) {
      STITCH_TRY(offer.order, parse(change["order"], {plan::Order::row_major, plan::Order::channels_last}));
    }
    out.offer = offer;
  }
  if (change.contains("choices"))
    for (const auto& [knob, value] : change["choices"].items()) out.choices[knob] = value.get<int64_t>();
  return out;
}

Result<void> apply(const Json& change, const plan::Context& context, const plan::Catalogue& catalogue,
                   Proposal& proposal) {
  if (change.contains("write")) {
    const std::string region = change["write"].get<std::string>();
    const auto& regions = proposal.plan.regions;
    if (std::ranges::find(regions, region, &plan::Region::name) == regions.end())
      return user_error("plan", format("there is no region '{}'", shorten(printable(region), 60)));
    proposal.to_write.push_back(region);
    proposal.idea += change.value("idea", std::string()) + "\n";
    return {};
  }
  STITCH_TRY(proposal.plan, with_change(change, context, std::move(proposal.plan), catalogue));
  return {};
}

Json change_properties() {
  const Json text = {{"type", "string"}};
  return {{"region", text},
          {"technique", text},
          {"arithmetic", text},
          {"order", text},
          {"choices", {{"type", "object"}, {"additionalProperties", {{"type", "integer"}}}}},
          {"merge", {{"type", "array"}, {"items", text}}},
          {"name", text},
          {"split", text}};
}

}  // namespace

Json change_schema() { return object(change_properties(), {}); }

Result<plan::Plan> with_change(const Json& change, const plan::Context& context, plan::Plan plan,
                               const plan::Catalogue& catalogue) {
  if (change.contains("split"))
    return plan::split_region(context, std::move(plan), change["split"].get<std::string>(), catalogue);
  STITCH_TRY(plan::Implementation how, implementation_of(change));
  if (change.contains("merge"))
    return plan::merge_regions(context, std::move(plan), change["merge"].get<std::vector<std::string>>(),
                               change.value("name", std::string()), how, catalogue);
  if (!change.contains("region")) return user_error("plan", "a change names a region, or merge or split");
  return plan::reimplement(context, std::move(plan), change["region"].get<std::string>(), how, catalogue);
}

// OpenAI takes only schemas whose root is an object, without anyOf: that it is one of the two is checked by
// proposals_of.
Json plan_answer_schema() {
  const Json text = {{"type", "string"}};
  Json properties = change_properties();
  properties["write"] = properties["idea"] = text;
  const Json change = object(std::move(properties), {});
  const Json step = object({{"title", text},
                            {"why", text},
                            {"predicted_gain_seconds", {{"type", "number"}}},
                            {"changes", {{"type", "array"}, {"items", change}, {"minItems", 1}}}},
                           {"title", "why", "changes"});
  return object({{"steps", {{"type", "array"}, {"items", step}}}, {"plan", {{"type", "object"}}}}, {});
}

Result<PlanAnswer> proposals_of(const Json& answer, const plan::Context& context, const plan::Plan& base,
                                const plan::Catalogue& catalogue) {
  if (answer.contains("plan") == answer.contains("steps"))
    return user_error("plan", "the document must have either \"steps\" or \"plan\"");
  PlanAnswer out;
  if (answer.contains("plan")) {
    STITCH_TRY(plan::Premises premises, plan::read_premises(answer["plan"], context.graph, context.gpu));
    if (premises.numerics != context.numerics) return user_error("plan", "the class is not to be changed");
    STITCH_TRY(plan::Plan plan, plan::read_plan(answer["plan"], context, catalogue));
    const double seconds = plan::estimate(context, plan);
    out.proposals.push_back({.step = "plan",
                             .why = "the Planner's own",
                             .plan = std::move(plan),
                             .predicted_seconds = seconds,
                             .judging = Judging::wholly});
    return out;
  }
  plan::Plan plan = base;
  for (const Json& step : answer.at("steps")) {
    Proposal proposal{.step = shorten(printable(step.at("title").get<std::string>()), 60),
                      .why = shorten(printable(step.at("why").get<std::string>()), 200),
                      .plan = plan,
                      .judging = Judging::wholly};
    Result<void> applied;
    for (const Json& change : step.at("changes"))
      if (applied) applied = apply(change, context, catalogue, proposal);
    if (!applied) {
      out.refused.push_back(at(format("step '{}'", proposal.step), std::move(applied).error()).text());
      continue;
    }
    plan = proposal.plan;
    proposal.predicted_seconds = plan::estimate(context, plan);
    const double gain = step.value("predicted_gain_seconds", 0.0);
    if (!proposal.to_write.empty() && gain > 0)
      proposal.predicted_seconds = std::max(0.0, proposal.predicted_seconds - gain);
    out.proposals.push_back(std::move(proposal));
    out.steps.push_back(step);
  }
  if (out.proposals.empty() && !out.refused.empty()) return user_error("plan", join(out.refused, "\n"));
  return out;
}

}  // namespace stitch::agents
