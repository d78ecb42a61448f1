#include "agents/loop/alternatives.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/loop/measured_gain.h"
#include "base/error_codes.h"
#include "base/json.h"
#include "base/terminal/wording.h"
#include "code/catalogue.h"
#include "plan/cost/estimate.h"
#include "plan/document/difference.h"
#include "plan/document/document.h"
#include "plan/precision/error_budget.h"
#include "plan/ways.h"
#include "verify/measured.h"

namespace stitch::agents {

namespace {

constexpr int most_trials = 6;
constexpr double least_share = 0.01;  // of a call: less can't pay for its build
constexpr double least_win = 0.97;    // of the time before: below, the profile's own spread decides
constexpr double worth_a_try = 1.02;  // of the time before, as predicted: estimates are this far off

// What regions have in common that the same code could implement.
std::string kind_text(const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
  const Graph& graph = context.graph;
  std::string out = format("{} {} {}", region.technique->name(), plan::name(region.offer.arithmetic),
                           plan::name(region.offer.order));
  for (const auto& [knob, value] : region.choices) out += format(" {}={}", knob, value);
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    out += format("\n{}", info(node.op).name);
    for (ValueId id : node.operands) {
      if (id == ValueId::none) continue;
      const plan::Storage& storage = plan.storage[index_of(id)];
      out += format(" {} {}{}", text(graph.type(id)), name(storage.dtype),
                    storage.order.empty() ? "" : " permuted");
    }
    for (const auto& [key, value] : node.attributes) out += format(" {}={}", key, text(value));
  }
  return out;
}

// Every other way of a region, with a technique's own knobs, and every other value of its own ones.
std::vector<plan::Region> other_ways(const plan::Context& context, const plan::Plan& plan,
                                     const plan::Region& region) {
  std::vector<plan::Region> out;
  for (const plan::Way& way : plan::ways_of(context, plan, region, code::catalogue()))
    if (way.technique != region.technique || !(way.offer == region.offer))
      out.push_back(plan::with_way(context, region, way));
  for (const plan::Knob& knob : plan::open_knobs(context, region))
    for (int64_t value : knob.values) {
      auto chosen = region.choices.find(knob.name);
      if (!knob.recompiles ||
          value == (chosen == region.choices.end() ? knob.values.front() : chosen->second))
        continue;
      out.push_back(region);
      out.back().choices[knob.name] = value;
    }
  return out;
}

// The plan with these regions implemented as `way` is; nothing: it can't be.
std::optional<plan::Plan> with(const plan::Context& context, const plan::Plan& plan,
                               const std::vector<std::string>& regions, const plan::Region& way) {
  plan::Plan out = plan;
  for (plan::Region& region : out.regions) {
    if (std::ranges::find(regions, region.name) == regions.end()) continue;
    region.technique = way.technique;
    region.offer = way.offer;
    region.choices = way.choices;
  }
  if (!plan::check_whole(context, out)) return std::nullopt;
  // Ten bits are not ten bits where numbers leave fp16's range.
  if (const auto errors = plan::errors_of(context, out); errors && errors->spent() > 1) return std::nullopt;
  return out;
}

// Those that could win, most promising first: by the cost model, corrected by what this program was measured
// to take.
std::vector<plan::Region> promising(const Situation& now, const RegionPredictor& predict,
                                    const plan::Region& region, double measured) {
  const plan::Plan& plan = now.best->plan;
  std::vector<std::pair<double, plan::Region>> ranked;
  for (plan::Region& way : other_ways(now.context, plan, region)) {
    const double seconds = predict(plan, way);
    if (seconds > 0 && seconds <= worth_a_try * measured) ranked.emplace_back(seconds, std::move(way));
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, plan::Region>::first);
  std::vector<plan::Region> out;
  for (auto& [seconds, way] : ranked) out.push_back(std::move(way));
  return out;
}

double sum(const std::map<std::string, double>& seconds, const std::vector<std::string>& regions) {
  double out = 0;
  for (const std::string& region : regions) {
    auto found = seconds.find(region);
    if (found == seconds.end()) return 0;
    out += found->second;
  }
  return out;
}

}  // namespace

void Alternatives::find(const Situation& now) {
  found_ = true;
  const std::map<std::string, double> seconds = verifier::profile_of(now.best->verdict).region_seconds;
  if (seconds.empty()) return;
  const plan::Plan& plan = now.best->plan;
  const RegionPredictor predict = region_predictor(now.context, *now.best);
  std::map<std::string, Kind> kinds;
  for (const plan::Region& region : plan.regions) {
    auto measured = seconds.find(region.name);
    if (measured == seconds.end() || region.source) continue;
    Kind& kind = kinds[kind_text(now.context, plan, region)];
    if (kind.regions.empty()) kind.ways = promising(now, predict, region, measured->second);
    kind.regions.push_back(region.name);
    kind.seconds += measured->second;
    kind.above_floor += measured->second - plan::floor_of(now.context, plan, region);
  }
  for (auto& [text, kind] : kinds)
    if (!kind.ways.empty() && kind.seconds >= least_share * now.best->seconds)
      kinds_.push_back(std::move(kind));
  std::ranges::stable_sort(kinds_, std::ranges::greater{}, &Kind::above_floor);
}

std::optional<Proposal> Alternatives::next(const Situation& now) {
  // A trial takes about as long as the first program did.
  if (!now.ledger.measured || now.seconds_left < now.ledger.entries.front().seconds) return std::nullopt;
  if (!found_) find(now);
  if (asked_)
    if (auto winners = with_winners(now)) return winners;
  return trial(now);
}

// After a trial: the program before it with the ways that won, unless the trial itself is the best one now.
std::optional<Proposal> Alternatives::with_winners(const Situation& now) {
  const Trial asked = *std::exchange(asked_, std::nullopt);
  const LedgerEntry& entry = now.ledger.entries.back();
  if (entry.outcome != Outcome::better && entry.outcome != Outcome::not_better) return std::nullopt;
  plan::Plan plan = asked.base;
  size_t won = 0;
  double gain = 0;
  for (const auto& [kind, way] : asked.changes) {
    const double before = sum(asked.before, kind.regions), after = sum(entry.region_seconds, kind.regions);
    if (after <= 0 || after > least_win * before) continue;
    if (auto next = with(now.context, plan, kind.regions, way)) {
      plan = *std::move(next);
      gain += before - after;
      ++won;
    }
  }
  if (won == 0 || (won == asked.changes.size() && entry.outcome == Outcome::better)) return std::nullopt;
  const double predicted = plan::estimate(now.context, plan);
  return Proposal{.step = format("{} that won", counted(static_cast<int64_t>(won), "technique")),
                  .why = "of the trial before, by the profile",
                  .plan = std::move(plan),
                  .predicted_seconds = predicted,
                  .predicted_gain = gain,
                  .judging = Judging::as_shipped};
}

std::optional<Proposal> Alternatives::trial(const Situation& now) {
  if (trials_ >= most_trials) return std::nullopt;
  Trial trial{.base = now.best->plan,
              .before = verifier::profile_of(now.best->verdict).region_seconds,
              .changes = {}};
  if (trial.before.empty()) return std::nullopt;
  plan::Plan plan = trial.base;
  std::vector<std::string> names;
  for (Kind& kind : kinds_) {
    while (!kind.ways.empty()) {
      const plan::Region way = kind.ways.front();
      kind.ways.erase(kind.ways.begin());
      auto next = with(now.context, plan, kind.regions, way);
      if (!next) continue;
      plan = *std::move(next);
      names.push_back(std::string(way.technique->name()));
      trial.changes.emplace_back(kind, way);
      break;
    }
  }
  if (trial.changes.empty()) return std::nullopt;
  ++trials_;
  const double predicted = plan::estimate(now.context, plan);
  Proposal out{
      .step = format("trial {} of other techniques", trials_),
      .why = format("{} for {} of regions",
                    counted(static_cast<int64_t>(std::set(names.begin(), names.end()).size()), "technique"),
                    counted(static_cast<int64_t>(trial.changes.size()), "kind")),
      .plan = std::move(plan),
      .predicted_seconds = predicted,
      .budget_share = 0.5};  // the rest is for the winners and the tuner
  out.predicted_gain = predicted_gain(now.context, *now.best, out.plan);
  asked_ = std::move(trial);
  return out;
}

void Alternatives::add_untried(std::vector<plan::Step>& out) const {
  size_t ways = 0;
  for (const Kind& kind : kinds_) ways += kind.ways.size();
  if (ways > 0 && trials_ < most_trials)
    out.push_back(
        {"other techniques", format("{} ways for {} kinds of regions", ways, kinds_.size()), {}, 0});
}

std::string wrong_region_of(const LedgerEntry& entry) {
  if (!entry.report || !entry.report->evidence) return {};
  if (entry.report->code == error_code::region_wrong) {
    const Json regions = entry.report->evidence->value("regions", Json::array());
    return regions.empty() ? "" : word(regions.back(), "region");
  }
  return entry.outcome == Outcome::wrong ? word(*entry.report->evidence, "wrong_region") : "";
}

std::optional<plan::Plan> without_region(const Graph& graph, const plan::Plan& before,
                                         const plan::Plan& after, const std::string& region) {
  const std::vector<plan::Change> all = plan::difference(graph, before, after);
  std::vector<plan::Change> kept;
  for (const plan::Change& change : all)
    if (std::ranges::find(change.after, region) == change.after.end()) kept.push_back(change);
  if (kept.empty() || kept.size() == all.size()) return std::nullopt;
  auto plan = plan::take_changes(graph, before, after, kept);
  if (!plan) return std::nullopt;
  return *std::move(plan);
}

}  // namespace stitch::agents
