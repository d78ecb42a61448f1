#include "agents/llm/region_answer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <span>

#include "base/text.h"
#include "code/catalogue.h"
#include "code/rewritten.h"
#include "code/sharing.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "oracle/interpreter.h"
#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/document/edit.h"
#include "plan/steps.h"

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

namespace {

// A line "decline: WHY".
std::optional<std::string> declined_in(std::string_view text) {
  for (const std::string& line : split(text, '\n')) {
    std::string said = trim(line);
    while (!said.empty() && std::string_view("*`_># ").find(said.front()) != std::string_view::npos)
      said.erase(said.begin());
    if (lower_case(said.substr(0, 8)) != "decline:") continue;
    said = trim(std::string_view(said).substr(8));
    if (said.starts_with("REASON")) continue;  // the prompt, repeated
    while (!said.empty() && (said.back() == '*' || said.back() == '`')) said.pop_back();
    return said.empty() ? "it gives no reason" : shorten(printable(said), 300);
  }
  return std::nullopt;
}

// A message of ours, repeated, has the name without the parenthesis.
bool names_function(std::string_view source, const std::string& function) {
  for (size_t at = 0; (at = source.find(function, at)) != source.npos;) {
    at += function.size();
    if (const size_t next = source.find_first_not_of(" \t\r\n", at);
        next != source.npos && source[next] == '(')
      return true;
  }
  return false;
}

// What a change names: regions of the plan.
std::vector<std::string> named_in(const Json& change) {
  if (change.contains("merge")) return change["merge"].get<std::vector<std::string>>();
  for (const char* key : {"region", "split"})
    if (change.contains(key)) return {change[key].get<std::string>()};
  return {};
}

Result<RegionAnswer> answer_in(const llm::Reply& reply, const std::string& function) {
  RegionAnswer out;
  auto source = llm::code_from_answer(reply.text, function);
  if (source && names_function(*source, function)) {
    out.source = *std::move(source);
    return out;
  }
  const std::vector<llm::Fence> fences = llm::fences_in(reply.text);
  const auto graph = std::ranges::find_if(fences, [](const auto& each) { return code::is_graph(each.text); });
  if (graph != fences.end()) {
    out.source = graph->text;
    return out;
  }
  if ((out.declined = declined_in(reply.text))) return out;
  auto changes = llm::json_from_answer(reply.text, region_changes_schema());
  if (changes) {
    out.changes = std::make_shared<const Json>(*std::move(changes));
    return out;
  }
  // One change without the list around it.
  if (auto one = llm::json_from_answer(reply.text, change_schema()); one && !named_in(*one).empty()) {
    out.changes = std::make_shared<const Json>(Json{{"changes", Json::array({*std::move(one)})}});
    return out;
  }
  // In a block, or alone: what stands in prose is no answer.
  if (trim(reply.text).starts_with("{") ||
      std::ranges::find(fences, "json", &llm::Fence::language) != fences.end())
    return changes.error();
  if (!source) return source.error();
  return work_error("llm_answer", format("the code has no function {}", function));
}

// Regions of the same structure are implemented alike, where they can be.
plan::Plan with_its_like(const Situation& now, plan::Plan before, const std::string& region,
                         const Json& change, plan::Plan after) {
  auto requests = code::requests_of(now.context, before);
  if (!requests) return after;
  std::string structure;
  for (size_t r = 0; r < before.regions.size(); ++r)
    if (before.regions[r].name == region) structure = code::structure_of((*requests)[r]);
  for (size_t r = 0; r < before.regions.size(); ++r) {
    const std::string& other = before.regions[r].name;
    if (other == region || code::structure_of((*requests)[r]) != structure) continue;
    Json same = change;
    same["region"] = other;
    if (auto both = with_change(same, now.context, after, code::catalogue())) after = *std::move(both);
  }
  return after;
}

Result<PlanWithAnswer> with_changes(const Situation& now, const plan::Plan& plan, const std::string& region,
                                    const Json& changes) {
  PlanWithAnswer out{.plan = plan, .refused = {}};
  std::set<std::string> within = {region};
  for (const plan::Region& each : plan.regions)
    if (each.name == region)
      for (const plan::Region* other : neighbours(plan, each)) within.insert(other->name);
  for (const Json& change : changes.at("changes")) {
    auto refuse = [&](const std::string& why) {
      out.refused.push_back(format("{}: {}", shorten(line_text(change), 160), why));
    };
    const std::vector<std::string> named = named_in(change);
    auto strange = std::ranges::find_if(named, [&](const auto& each) { return !within.contains(each); });
    if (strange != named.end()) {
      refuse(format("'{}' is neither {} nor a neighbour of it", shorten(printable(*strange), 60), region));
      continue;
    }
    auto made = with_change(change, now.context, out.plan, code::catalogue());
    if (!made) {
      refuse(made.error().text());
      continue;
    }
    std::set<std::string> before;
    for (const plan::Region& each : out.plan.regions) before.insert(each.name);
    for (const plan::Region& each : made->regions)
      if (!before.contains(each.name)) within.insert(each.name);
    out.plan = change.contains("region")
                   ? with_its_like(now, out.plan, named.front(), change, *std::move(made))
                   : *std::move(made);
  }
  if (plan::changed_regions(plan, out.plan).empty())
    return user_error("plan",
                      out.refused.empty() ? "the region is implemented so already" : join(out.refused, "\n"));
  return out;
}

}  // namespace

namespace {

// What a graph for a region computes, beside the region itself: in float64, before anything is compiled.
class Comparison {
 public:
  Comparison(const code::RegionRequest& request, const code::Rewriting& said)
      : request_(request), said_(said) {}

  // Nothing: too much work for here, or random integers and seeds would be no tensors of the region's.
  bool can_be_made() const {
    double flops = 0;
    for (int32_t n : request_.region.nodes) flops += cost(request_.graph, request_.graph.node(n)).flops;
    for (const Node& node : said_.graph.nodes) flops += cost(said_.graph, node).flops;
    return flops < 5e8 &&
           std::ranges::all_of(said_.graph.leaves(),
                               [&](ValueId id) { return is_floating(said_.graph.type(id).dtype); }) &&
           all_floating(request_.reads) && all_floating(request_.weights);
  }
  // Of values from `least` to `most`; empty: it is the same.
  Result<std::string> difference(double least, double most) const {
    std::mt19937_64 random(1);
    oracle::Known ours, theirs;
    for (const auto* places : {&request_.reads, &request_.weights})
      for (const code::Place& place : *places) {
        oracle::Tensor tensor(place.dtype, place.shape);
        for (double& each : std::span(tensor.writable<double>(), static_cast<size_t>(tensor.elements())))
          each = least + (most - least) * static_cast<double>(random() >> 11) * 0x1p-53;
        for (const auto& [own, value] : said_.leaves)
          if (value == place.value) theirs[own] = tensor;
        ours[place.value] = std::move(tensor);
      }
    std::vector<ValueId> writes;
    for (const code::Place& place : request_.writes) writes.push_back(place.value);
    STITCH_TRY(const auto right, oracle::evaluate(request_.graph, std::move(ours), writes));
    STITCH_TRY(const auto given, oracle::evaluate(said_.graph, std::move(theirs), said_.graph.outputs));
    for (size_t i = 0; i < right.size(); ++i)
      if (std::string out = difference(right[i], given[i], request_.writes[i].pointer); !out.empty())
        return out;
    return std::string();
  }

 private:
  static bool all_floating(const std::vector<code::Place>& places) {
    return std::ranges::all_of(places, [](const auto& place) { return is_floating(place.dtype); });
  }
  // Approximations are the gates' to judge.
  static std::string difference(const oracle::Tensor& right, const oracle::Tensor& given,
                                const std::string& name) {
    if (!right.floating()) return {};
    double off = 0, all = 0, worst = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < right.elements(); ++i) {
      const double a = right.data<double>()[i], b = given.data<double>()[i];
      if (!std::isfinite(a) && !std::isfinite(b)) continue;
      const double error = std::isfinite(a - b) ? std::abs(a - b) : 1e300;
      if (error > worst) worst = error, at = i;
      off += error * error, all += a * a;
    }
    if (std::sqrt(off) <= 0.01 * std::sqrt(all)) return {};
    return format("{} is something else: element {} is {:.4g} instead of {:.4g}", name, at,
                  given.data<double>()[at], right.data<double>()[at]);
  }

  const code::RegionRequest& request_;
  const code::Rewriting& said_;
};

// What holds for the values that a region really gets may hold for positive ones only: it has to for one of
// several kinds.
Result<void> computes_the_same(const plan::Context& context, const plan::Plan& plan,
                               const std::string& region, const std::string& source) {
  STITCH_TRY(const std::vector<code::RegionRequest> requests, code::requests_of(context, plan));
  const auto found = std::ranges::find(plan.regions, region, &plan::Region::name);
  if (found == plan.regions.end()) return {};  // with_source says so
  const code::RegionRequest& request = requests[static_cast<size_t>(found - plan.regions.begin())];
  STITCH_TRY(const code::Rewriting said, code::rewriting_in(source, request));
  STITCH_TRY(code::Rewriting own, code::rewriting_in(code::graph_of_region(request), request));
  if (said.graph.name == "any") own.graph.name = said.graph.name;
  if (print_graph(said.graph) == print_graph(own.graph))
    return work_error("llm_answer", "this is the region's graph as it is: change it, or decline");
  const Comparison comparison(request, said);
  if (!comparison.can_be_made()) return {};
  std::string why;
  for (const auto& [least, most] : {std::pair(-2.0, 2.0), std::pair(0.05, 1.05)}) {
    STITCH_TRY(std::string other, comparison.difference(least, most));
    if (other.empty()) return {};
    if (why.empty()) why = std::move(other);
  }
  return work_error("llm_answer", why);
}

}  // namespace

Json region_changes_schema() {
  return {{"type", "object"},
          {"properties", {{"changes", {{"type", "array"}, {"items", change_schema()}, {"minItems", 1}}}}},
          {"required", {"changes"}},
          {"additionalProperties", false}};
}

Result<PlanWithAnswer> with_answer(const Situation& now, const plan::Plan& plan, const RegionBrief& brief,
                                   const RegionAnswer& answer, const std::string& author) {
  if (answer.changes) return with_changes(now, plan, brief.region, *answer.changes);
  if (code::is_graph(answer.source))
    STITCH_CHECK(computes_the_same(now.context, plan, brief.region, answer.source));
  STITCH_TRY(plan::Plan out,
             code::with_source(now.context, plan, brief.region,
                               {.function = brief.function, .text = answer.source, .author = author}));
  return PlanWithAnswer{.plan = std::move(out), .refused = {}};
}

Result<RegionAnswer> ask_region(const Situation& now, const plan::Plan& plan, const RegionBrief& brief,
                                const LlmBrain& brain, std::string prompt, bool repair) {
  RegionAnswer out;
  auto read = [&](const llm::Reply& reply) -> Result<void> {
    STITCH_TRY(out, answer_in(reply, brief.function));
    if (!out.declined) STITCH_CHECK(with_answer(now, plan, brief, out, brain.author));
    return {};
  };
  if (!repair) {
    STITCH_TRY(llm::Reply reply,
               brain.chat->ask({.messages = {llm::user_message(std::move(prompt))}}, ask_options(now)));
    if (auto good = read(reply); !good) return work_error("llm_answer", good.error().message);
    return out;
  }
  STITCH_CHECK(llm::ask_with_repair(*brain.chat, {.messages = {llm::user_message(std::move(prompt))}},
                                    ask_options(now), read,
                                    format("Answer again: changes of the plan in one ```json fence, a graph "
                                           "in one ```graph fence, or the whole "
                                           "corrected source in one ```cuda fence, which defines\n{}\n",
                                           brief.values.at("function_signature"))));
  return out;
}

bool DraftOfAnswers::has(const std::string& region) const {
  return std::ranges::find(plan_.regions, region, &plan::Region::name) != plan_.regions.end();
}

Result<void> DraftOfAnswers::take(const RegionBrief& brief, const RegionAnswer& answer) {
  if (answer.declined) {
    declined_.push_back(format("{}: {}", brief.region, *answer.declined));
    return {};
  }
  STITCH_TRY(PlanWithAnswer made, with_answer(now_, plan_, brief, answer, author_));
  plan_ = std::move(made.plan);
  has_source_ = has_source_ || !answer.changes;
  has_cuda_ = has_cuda_ || (!answer.changes && !code::is_graph(answer.source));
  if (answer.changes)
    for (const Json& each : answer.changes->at("changes")) changes_.push_back(each);
  refused_.insert(refused_.end(), made.refused.begin(), made.refused.end());
  return {};
}

Result<Draft> DraftOfAnswers::finish() && {
  if (!has_source_ && changes_.is_null() && !declined_.empty())
    return work_error("llm_declined", join(declined_, "; "));
  std::optional<double> predicted;
  if (!has_cuda_ && now_.best)
    predicted = now_.best->predicted_seconds + code::estimate_rewritten(now_.context, plan_) -
                code::estimate_rewritten(now_.context, now_.best->plan);
  STITCH_TRY(Draft out, draft_of(now_, step_, std::move(plan_), author_));
  if (!changes_.is_null()) out.changes = changes_.dump(1);
  out.refused_changes = std::move(refused_);
  out.predicted_seconds = predicted;
  return out;
}

Result<Draft> draft_of(const Situation& now, const Proposal& step, plan::Plan plan, std::string author) {
  STITCH_TRY(PackageContents contents, code::write_program(now.context, plan));
  if (!step.settings.empty()) code::set_values(contents, step.settings);
  return Draft{std::move(plan), std::move(contents), std::move(author)};
}

llm::AskOptions ask_options(const Situation& now) {
  llm::AskOptions out;
  out.should_stop = now.should_stop;
  out.deadline = llm::Clock::now() + std::chrono::duration_cast<llm::Clock::duration>(
                                         std::chrono::duration<double>(std::max(now.seconds_left, 0.0)));
  return out;
}

}  // namespace stitch::agents
