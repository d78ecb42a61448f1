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
  auto text = [&](const char* key) { return change.at(key).get<std::string>(); };
  if (change.contains("write")) {
    proposal.to_write.push_back(text("write"));
    proposal.idea += change.value("idea", std::string()) + "\n";
    const auto& regions = proposal.plan.regions;
    if (std::ranges::find(regions, text("write"), &plan::Region::name) == regions.end())
      return user_error("plan", format("there is no region '{}'", shorten(printable(text("write")), 60)));
    return {};
  }
  if (change.contains("split")) {
    STITCH_TRY(proposal.plan, plan::split_region(context, proposal.plan, text("split"), catalogue));
    return {};
  }
  STITCH_TRY(plan::Implementation how, implementation_of(change));
  if (change.contains("merge")) {
    STITCH_TRY(proposal.plan,
               plan::merge_regions(context, proposal.plan, change["merge"].get<std::vector<std::string>>(),
                                   change.value("name", std::string()), how, catalogue));
    return {};
  }
  if (!change.contains("region"))
    return user_error("plan", "a change names a region, or merge, split or write");
  STITCH_TRY(proposal.plan, plan::reimplement(context, proposal.plan, text("region"), how, catalogue));
  return {};
}

}  // namespace

Json plan_answer_schema() {
  const Json text = {{"type", "string"}};
  const Json change =
      object({{"region", text},
              {"technique", text},
              {"arithmetic", text},
              {"order", text},
              {"choices", {{"type", "object"}, {"additionalProperties", {{"type", "integer"}}}}},
              {"merge", {{"type", "array"}, {"items", text}}},
              {"name", text},
              {"split", text},
              {"write", text},
              {"idea", text}},
             {});
  const Json step = object({{"title", text},
                            {"why", text},
                            {"predicted_gain_seconds", {{"type", "number"}}},
                            {"changes", {{"type", "array"}, {"items", change}, {"minItems", 1}}}},
                           {"title", "why", "changes"});
  return {{"anyOf",
           {object({{"steps", {{"type", "array"}, {"items", step}}}}, {"steps"}),
            object({{"plan", {{"type", "object"}}}}, {"plan"})}}};
}

Result<std::vector<Proposal>> proposals_of(const Json& answer, const plan::Context& context,
                                           const plan::Plan& base, const plan::Catalogue& catalogue) {
  std::vector<Proposal> out;
  if (answer.contains("plan")) {
    STITCH_TRY(plan::Premises premises, plan::read_premises(answer["plan"], context.graph, context.gpu));
    if (premises.numerics != context.numerics) return user_error("plan", "the class is not to be changed");
    STITCH_TRY(plan::Plan plan, plan::read_plan(answer["plan"], context, catalogue));
    const double seconds = plan::estimate(context, plan);
    out.push_back({.step = "plan",
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
    for (const Json& change : step.at("changes"))
      if (auto applied = apply(change, context, catalogue, proposal); !applied)
        return at(format("step '{}'", proposal.step), std::move(applied).error());
    plan = proposal.plan;
    proposal.predicted_seconds = plan::estimate(context, plan);
    const double gain = step.value("predicted_gain_seconds", 0.0);
    if (!proposal.to_write.empty() && gain > 0)
      proposal.predicted_seconds = std::max(0.0, proposal.predicted_seconds - gain);
    out.push_back(std::move(proposal));
  }
  return out;
}

}  // namespace stitch::agents
