#include "agents/record/run_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/loop/alternatives.h"
#include "base/digest/sha256.h"
#include "base/text.h"
#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/document/signature.h"
#include "plan/steps.h"
#include "verify/clock/clock.h"

namespace stitch::agents {

namespace {

PastAttempt attempt_of(const Json& body, double elapsed) {
  PastAttempt out{.number = body.value("attempt", 1),
                  .outcome = word(body, "outcome"),
                  .sources = {},
                  .verdict = word(body, "verdict"),
                  .elapsed = elapsed};
  const Json sources = body.value("sources", Json::object());
  for (const auto& [path, hash] : sources.items())
    if (hash.is_string()) out.sources[path] = hash.get<std::string>();
  return out;
}

void take(PastRun& run, const std::string& kind, const Json& body, double elapsed) {
  const bool open = !run.steps.empty() && !run.steps.back().entry;
  if (kind == "begin") {
    run.graph = word(body, "graph");
  } else if (kind == "step") {
    run.steps.push_back({.name = word(body, "step"),
                         .why = word(body, "why"),
                         .plan = word(body, "plan"),
                         .predicted_gain = body.value("predicted_gain_seconds", 0.0),
                         .attempts = {},
                         .entry = nullptr,
                         .base = best_step(run)});
  } else if (kind == "attempt" && open) {
    run.steps.back().attempts.push_back(attempt_of(body, elapsed));
  } else if (kind == "ended") {
    if (!open || run.steps.back().name != word(body, "step"))
      run.steps.push_back({.name = word(body, "step"),
                           .why = word(body, "why"),
                           .plan = {},
                           .attempts = {},
                           .entry = nullptr,
                           .base = best_step(run)});
    run.steps.back().entry = std::make_shared<const Json>(body);
    run.steps.back().kept = word(body, "action") == "commit";
    // What failed as it was shipped is the best no more.
    if (word(body, "step") == "ship" && run.steps.back().base >= 0)
      run.steps[static_cast<size_t>(run.steps.back().base)].kept = false;
  } else if (kind == "refused") {
    run.refused.emplace_back(word(body, "step"), word(body, "why"));
  } else if (kind == "warning") {
    run.warnings.push_back(word(body, "text"));
  } else if (kind == "conversation") {
    run.conversation.push_back(word(body, "line"));
  } else if (kind == "tuned") {
    run.tuning = std::make_shared<const Json>(body);
  } else if (kind == "not_tuned") {
    run.tuning = std::make_shared<const Json>(Json{{"skipped", word(body, "text")}});
  } else if (kind == "shipped") {
    run.program = word(body, "program");
    run.verdict = word(body, "verdict");
  }
}

}  // namespace

int best_step(const PastRun& run) {
  for (size_t i = run.steps.size(); i-- > 0;)
    if (run.steps[i].kept) return static_cast<int>(i);
  return -1;
}

Result<PastRun> read_history(const store::RunStore& store, const store::Run& run) {
  STITCH_TRY(std::vector<store::StoredEvent> events, store.events(run));
  PastRun out;
  for (const store::StoredEvent& event : events) {
    auto body = parse_json(event.body);
    if (!body || !body->is_object())
      return at(store.file().string(), work_error("store_damaged", format("event {} of the run {} is damaged",
                                                                          event.sequence, run.id)));
    take(out, event.kind, *body, event.elapsed);
  }
  return out;
}

Result<std::map<std::string, std::string>> sources_of(const store::RunStore& store,
                                                      const PastAttempt& attempt) {
  std::map<std::string, std::string> out;
  for (const auto& [path, hash] : attempt.sources) {
    STITCH_TRY(out[path], store.blob(hash));
  }
  return out;
}

Json to_json(const PastRun& run) {
  Json json = {{"steps", Json::array()}, {"refused_before", Json::array()}, {"warnings", run.warnings}};
  for (const PastStep& step : run.steps) {
    Json one = {{"step", step.name}, {"why", step.why}, {"base", nullptr}, {"kept", step.kept}};
    if (step.base >= 0) one["base"] = step.base;
    one["attempts"] = Json::array();
    for (const PastAttempt& attempt : step.attempts)
      one["attempts"].push_back({{"attempt", attempt.number},
                                 {"outcome", attempt.outcome},
                                 {"elapsed_seconds", attempt.elapsed},
                                 {"sources", attempt.sources}});
    if (step.entry) one["ledger"] = *step.entry;
    json["steps"].push_back(std::move(one));
  }
  for (const auto& [step, why] : run.refused)
    json["refused_before"].push_back({{"step", step}, {"why", why}});
  if (run.tuning) json["tuning"] = *run.tuning;
  if (!run.program.empty()) json["program"] = run.program;
  return json;
}

namespace {

constexpr size_t most_regions = 200;  // of a step; with more, a failure says nothing about one region

store::Observation begun(const Observer& observer, const plan::Context& context, store::Scope scope,
                         std::string signature, int64_t number) {
  return {.origin = observer.origin,
          .number = number,
          .scope = scope,
          .signature = std::move(signature),
          .machine = observer.machine,
          .numerics = std::string(name(context.numerics)),
          .version = observer.version,
          .technique = {},
          .knobs = {},
          .outcome = {},
          .why = {},
          .measured = observer.measured,
          .when = verifier::utc_now(),
          .document = {}};
}

bool says_something(const LedgerEntry& entry) {
  switch (entry.outcome) {
    case Outcome::better:
    case Outcome::not_better:
    case Outcome::not_written:
    case Outcome::not_built:
    case Outcome::wrong:
    case Outcome::crashed:
    case Outcome::misbehaved: return true;
    default: return false;
  }
}

void fill(store::Observation& out, const LedgerEntry& entry, double predicted_gain) {
  out.outcome = name(entry.outcome);
  out.why = reason(entry);
  out.predicted_gain = predicted_gain;
  if (entry.before > 0) out.before = entry.before;
  if (entry.after > 0) out.after = entry.after;
  out.tries = entry.tries;
}

// What the step made of regions, each kind once.
std::vector<const plan::Region*> kinds_changed(const plan::Context& context, const plan::Plan& plan,
                                               const plan::Plan* base, const std::string& guilty) {
  const std::vector<std::string> changed =
      base ? plan::changed_regions(*base, plan) : std::vector<std::string>();
  std::vector<const plan::Region*> out;
  std::set<std::string> seen;
  for (const plan::Region& region : plan.regions) {
    if (guilty.empty() ? std::ranges::find(changed, region.name) == changed.end() : region.name != guilty)
      continue;
    const std::string kind =
        plan::signature_of(context.graph, region) + technique_of(region) + knobs_of(region);
    if (seen.insert(kind).second) out.push_back(&region);
  }
  return out;
}

}  // namespace

std::string machine_name(const GpuSpec& gpu, bool emulated) {
  return emulated ? gpu.name + ", emulated" : gpu.name;
}

std::string technique_of(const plan::Region& region) {
  return format("{} {} {}", region.technique->name(), plan::name(region.offer.arithmetic),
                plan::name(region.offer.order));
}

std::string knobs_of(const plan::Region& region) {
  std::vector<std::string> out;
  for (const auto& [knob, value] : region.choices) out.push_back(format("{}={}", knob, value));
  if (region.source) out.push_back("source=" + sha256(region.source->text).substr(0, 16));
  return join(out, " ");
}

std::string observed_step(const std::string& step, const std::string& author) {
  return author.empty() ? step : format("{} by {}", step, author);
}

bool is_refusal(const store::Observation& one) {
  if (one.outcome == name(Outcome::not_better)) return one.measured;
  return one.outcome != name(Outcome::better);
}

std::vector<store::Observation> observe_step(const Observer& observer, const plan::Context& context,
                                             const plan::Plan& plan, const plan::Plan* base,
                                             const LedgerEntry& entry, int64_t number) {
  std::vector<store::Observation> out;
  if (!says_something(entry)) return out;
  out.push_back(begun(observer, context, store::Scope::step, plan::graph_hash(context.graph), number++));
  out.back().technique = observed_step(entry.step, entry.tree.empty() ? "" : entry.tree.back().author);
  // Which plan it was, for a step whose name alone doesn't say.
  out.back().knobs = store::blob_hash(plan::to_json(context, plan).dump());
  // The cost model's own word: the ledger's may be one that memory corrected already.
  const double predicted =
      base ? plan::estimate(context, *base) - plan::estimate(context, plan) : entry.predicted_gain;
  fill(out.back(), entry, predicted);
  // Of a first program nothing is known of one region, unless it was found wrong alone.
  const auto regions = kinds_changed(context, plan, base, wrong_region_of(entry));
  if (regions.size() > most_regions) return out;
  for (const plan::Region* region : regions) {
    out.push_back(
        begun(observer, context, store::Scope::region, plan::signature_of(context.graph, *region), number++));
    out.back().technique = technique_of(*region);
    out.back().knobs = knobs_of(*region);
    out.back().among = static_cast<int>(regions.size());
    fill(out.back(), entry, predicted);
  }
  return out;
}

store::Observation observe_program(const Observer& observer, const plan::Context& context,
                                   const plan::Plan& plan, const std::map<std::string, int64_t>& settings,
                                   double seconds, int64_t number) {
  store::Observation out =
      begun(observer, context, store::Scope::program, plan::graph_hash(context.graph), number);
  out.outcome = name(Outcome::better);
  out.knobs = Json(settings).dump();
  out.after = seconds;
  out.document = plan::to_json(context, plan).dump();
  return out;
}

}  // namespace stitch::agents
