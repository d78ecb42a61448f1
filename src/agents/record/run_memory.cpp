#include "agents/record/run_memory.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/loop/part_of_step.h"
#include "base/digest/sha256.h"
#include "base/text.h"
#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/document/document_names.h"
#include "plan/document/signature.h"
#include "plan/steps.h"
#include "verify/clock/clock.h"

namespace stitch::agents {

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
