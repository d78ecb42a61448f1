#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/loop/loop.h"
#include "agents/loop/measured_gain.h"
#include "agents/optimize.h"
#include "agents/record/recorded_run.h"
#include "agents/record/shipped.h"
#include "base/contained.h"
#include "plan/cost/cost_fit.h"
#include "plan/document/document.h"
#include "verify/measured.h"

namespace stitch::agents {

namespace {

// Adds to the plan's regions the lines of the model that each computes.
Json with_lines(Json out, const plan::Context& context, const plan::Plan& plan) {
  for (size_t i = 0; i < plan.regions.size() && i < out.size(); ++i) {
    Json& lines = out[i]["lines"] = Json::array();
    for (int32_t node : plan.regions[i].nodes) {
      const std::string& where = context.graph.node(node).where;
      if (!where.empty() && std::ranges::find(lines, Json(where)) == lines.end()) lines.push_back(where);
    }
  }
  return out;
}

}  // namespace

// The best program that passes every gate, with the baselines timed: if it fails a gate that steps don't
// have, the one before it is judged.
Result<void> Loop::ship(Optimized& out) {
  const fs::path to_ship = scratch_ / "shipped";
  for (; !kept_.empty(); kept_.pop_back()) {
    const auto begin = Clock::now();
    const Program& best = kept_.back();
    STITCH_TRY(shipped_, contents_of(best));
    STITCH_CHECK(write_package(to_ship, shipped_));
    out.judged_fully = is_judged_fully(best.judging);
    out.seconds_a_call = best.seconds;
    out.verdict = best.verdict;
    out.predicted_seconds = best.predicted_seconds;
    Json plan = plan::to_json(*context_, best.plan);
    out.regions = std::make_shared<const Json>(with_lines(std::move(plan["regions"]), *context_, best.plan));
    if (plan.contains("sizes")) out.sizes = std::make_shared<const Json>(std::move(plan["sizes"]));
    if (best.judging == Judging::as_shipped) break;
    auto verdict = contained([&] {
      return elsewhere(
          [&] { return brains_.verifier->judge(to_ship, Judging::as_shipped, options_.should_stop); });
    });
    // The steps' verdict stands where there is no time for another, or something of ours broke.
    if (!verdict) {
      out.stopped = outcome_of(verdict.error()) == Outcome::interrupted;
      if (!out.stopped) out.verdict.notes.push_back("quick checks only: " + verdict.error().message);
      break;
    }
    out.verdict = *std::move(verdict);
    keep_costs("ship", best.plan, out.verdict);
    if (out.verdict.passed()) {
      out.judged_fully = is_judged_fully(Judging::as_shipped);
      out.seconds_a_call = seconds_of(out.verdict, best.predicted_seconds);
      break;
    }
    const verifier::GateReport& failure = *out.verdict.failure();
    end({.step = "ship",
         .why = "every gate",
         .before = best.seconds,
         .outcome = outcome_of(failure),
         .report = failure,
         .tries = 1},
        Action::drop, begin);
  }
  if (best())
    if (std::string note = rounding_note(best()->plan); !note.empty())
      out.verdict.notes.push_back(std::move(note));
  return {};
}

// Only now: an earlier interruption leaves the user's folder unchanged.
Result<void> Loop::publish(Optimized& out) {
  if (options_.device == runner::Device::cuda && out.verdict.passed()) shipped_.library = out.verdict.library;
  shipped_.record = facts_of(options_, out.judged_fully);
  if (out.verdict.passed())
    shipped_.record["seconds"] = format("{}", out.seconds_a_call);
  else
    shipped_.record["judged"] = "failed";
  std::string beside;
  const auto there = read_record(options_.out);
  if (there && options_.overwrite == Overwrite::refuse)
    beside = out.verdict.passed() ? why_better(there->facts, shipped_.record) : "this one failed a gate";
  STITCH_CHECK(add_weights(shipped_, task_.weights, options_.weights));
  shipped_.results = results_of(out, ledger_, options_);
  STITCH_TRY(out.published, write_package(options_.out, shipped_, options_.overwrite,
                                          beside.empty() ? "" : "the program there is kept: " + beside));
  if (out.published.beside.empty()) out.published.folder = options_.out;
  STITCH_CHECK(write_records(out, ledger_, task_, options_, {scratch_}));
  if (!out.verdict.header) return {};
  Json header = *out.verdict.header;
  header["program"] = out.published.folder.string();
  out.verdict.header = std::make_shared<const Json>(std::move(header));
  return {};
}

bool Loop::is_judged_fully(Judging judging) const {
  return judging == Judging::wholly || (judging == Judging::as_shipped && !options_.quick);
}

// With its task and constants.
Result<PackageContents> Loop::contents_of(const Program& program) const {
  PackageContents contents = program.contents;
  STITCH_CHECK(add_task(contents, task_));
  return contents;
}

// Regions whose kernels the profile gate measured, beside the cost model's parts: what a calibration is made
// from. Of every program that was right, the plain one too: a model that only saw what was chosen would
// think well of everything else.
void Loop::keep_costs(const std::string& step, const plan::Plan& plan, const verifier::Verdict& verdict) {
  const std::map<std::string, double> measured = verifier::profile_of(verdict).region_seconds;
  if (measured.empty()) return;
  if (!costs_) costs_ = std::make_shared<Json>(Json::array());
  for (const plan::Region& region : plan.regions) {
    auto found = measured.find(region.name);
    if (found == measured.end()) continue;
    Json sample =
        plan::to_json(plan::CostSample{.region = region.name,
                                       .way = plan::way_of(region),
                                       .parts = plan::estimate_without_calibration(*context_, plan, region),
                                       .measured = found->second});
    sample["step"] = step;
    sample["predicted"] = plan::estimate(*context_, plan, region).seconds();
    costs_->push_back(std::move(sample));
  }
}

// A step like any other, after the search.
void Loop::tune_settings() {
  const auto begin = Clock::now();
  if (!ledger_.measured)
    return skip_tuning(options_.device == runner::Device::emulated ? "times on the emulated GPU mean nothing"
                                                                   : "nothing is timed");
  if (stopped()) return skip_tuning("stopped");
  if (spent()) {
    not_tried({{"tune", "settings, tried on the GPU", {}, 0}}, Outcome::not_tried);
    return skip_tuning("the budget is spent");
  }
  const Program& best = kept_.back();
  std::vector<Tunable> tunables = tunables_of(*context_, best.plan, best.contents.manifest);
  if (tunables.empty()) return skip_tuning("the program has no settings to tune");
  LedgerEntry entry{.step = "tune",
                    .why = "settings, tried on the GPU",
                    .before = best.seconds,
                    .outcome = Outcome::not_better};
  const std::optional<Tuned> before = options_.replay ? options_.replay->tuned() : std::nullopt;
  const Tuned tuned = before ? *before : search(tunables, entry);
  if (!entry.no_verdict && !stopped()) tell(TuningEnded{tuned});
  tuning_ = std::make_shared<const Json>(to_json(tuned));
  if (tuned.settings.empty()) {
    if (!entry.no_verdict)
      entry.note = format("none of {} values tried is faster{}{}", tuned.tried,
                          tuned.ended.empty() ? "" : "; ", tuned.ended);
    return end(std::move(entry), Action::roll_back, begin);
  }
  take({.step = entry.step,
        .why = entry.why,
        .plan = best.plan,
        .settings = tuned.settings,
        .predicted_seconds = best.predicted_seconds,
        .judging = best.judging == Judging::as_shipped ? Judging::as_shipped : Judging::quickly,
        .needed = true});
  ledger_.entries.back().seconds = seconds_since(begin);
}

void Loop::skip_tuning(std::string why) {
  tell(TuningSkipped{why});
  tuning_ = std::make_shared<const Json>(Json{{"skipped", std::move(why)}});
}

// With what is left of the budget, at most a third of it. Whatever goes wrong costs the tuning and nothing
// else.
Tuned Loop::search(const std::vector<Tunable>& tunables, LedgerEntry& entry) {
  const double most = std::min(seconds_left(), static_cast<double>(options_.budget.count()) / 3);
  const auto begin = Clock::now();
  TuneOptions limits{.seconds_left = [&] { return most - seconds_since(begin); },
                     .should_stop = options_.should_stop,
                     .on_progress = [&](std::string_view text) { tell(Doing{text}); }};
  auto tuned = contained([&]() -> Result<Tuned> {
    const fs::path program = scratch_ / "tune";
    STITCH_CHECK(write_package(program, kept_.back().contents));
    STITCH_TRY(auto clock, brains_.verifier->settings_clock(program));
    return elsewhere([&] { return tune(tunables, *clock, TuningCache(clock->machine()), limits); });
  });
  if (tuned) return *std::move(tuned);
  entry.outcome = outcome_of(tuned.error());
  entry.no_verdict = std::move(tuned).error();
  if (entry.outcome == Outcome::our_trouble) renew();
  return Tuned{.ended = entry.no_verdict->message};
}

}  // namespace stitch::agents
