#include "agents/llm/region_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/llm/llm_plan_answer.h"
#include "agents/llm/region_facts.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/sharing.h"
#include "code/write_program.h"
#include "llm/answers/code_answer.h"
#include "llm/answers/json_answer.h"
#include "plan/cost/estimate.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

// A line "decline: WHY".
std::optional<std::string> declined_in(std::string_view text) {
  for (const std::string& line : split(text, '\n')) {
    std::string said = trim(line);
    while (!said.empty() && std::string_view("*`_># ").find(said.front()) != std::string_view::npos)
      said.erase(said.begin());
    if (lower_case(said.substr(0, 8)) != "decline:") continue;
    said = trim(std::string_view(said).substr(8));
    while (!said.empty() && (said.back() == '*' || said.back() == '`')) said.pop_back();
    return said.empty() ? "it gives no reason" : shorten(printable(said), 300);
  }
  return std::nullopt;
}

Result<RegionAnswer> answer_in(const llm::Reply& reply, const std::string& function) {
  RegionAnswer out;
  auto source = llm::code_from_answer(reply.text, function);
  const bool has_code = source && source->find(function) != std::string::npos;
  if (!has_code && (out.declined = declined_in(reply.text))) return out;
  if (!has_code) {
    auto changes = llm::json_from_answer(reply.text, region_changes_schema());
    if (changes) {
      out.changes = std::make_shared<const Json>(*std::move(changes));
      return out;
    }
    if (reply.text.find("\"changes\"") != std::string::npos) return changes.error();
  }
  if (!source) return source.error();
  if (!has_code) return work_error("llm_answer", format("the code has no function {}", function));
  out.source = *std::move(source);
  return out;
}

// What a change names: regions of the plan.
std::vector<std::string> named_in(const Json& change) {
  if (change.contains("merge")) return change["merge"].get<std::vector<std::string>>();
  for (const char* key : {"region", "split"})
    if (change.contains(key)) return {change[key].get<std::string>()};
  return {};
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

Json region_changes_schema() {
  return {{"type", "object"},
          {"properties", {{"changes", {{"type", "array"}, {"items", change_schema()}, {"minItems", 1}}}}},
          {"required", {"changes"}},
          {"additionalProperties", false}};
}

Result<PlanWithAnswer> with_answer(const Situation& now, const plan::Plan& plan, const RegionBrief& brief,
                                   const RegionAnswer& answer, const std::string& author) {
  if (answer.changes) return with_changes(now, plan, brief.region, *answer.changes);
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
  STITCH_CHECK(llm::ask_with_repair(
      *brain.chat, {.messages = {llm::user_message(std::move(prompt))}}, ask_options(now), read,
      "Answer again: the whole corrected source in one ```cuda fence, or changes "
      "of the plan in one ```json fence."));
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
  if (!answer.changes) has_source_ = true;
  if (answer.changes)
    for (const Json& each : answer.changes->at("changes")) changes_.push_back(each);
  refused_.insert(refused_.end(), made.refused.begin(), made.refused.end());
  return {};
}

Result<Draft> DraftOfAnswers::finish() && {
  if (!has_source_ && changes_.is_null() && !declined_.empty())
    return work_error("llm_declined", join(declined_, "; "));
  std::optional<double> predicted;
  if (!has_source_ && now_.best)
    predicted = now_.best->predicted_seconds + plan::estimate(now_.context, plan_) -
                plan::estimate(now_.context, now_.best->plan);
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
