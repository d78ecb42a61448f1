#include "learn/coder/propose.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/steps.h"

namespace stitch {

extern const std::span<const unsigned char> embedded_coder_sm_90;

}  // namespace stitch

namespace stitch::learn {

namespace {

class LearnedPlanner final : public agents::Planner {
 public:
  LearnedPlanner(std::unique_ptr<agents::Planner> planner, Committee committee)
      : planner_(std::move(planner)), committee_(std::move(committee)) {}

  Result<std::optional<agents::Proposal>> propose(const agents::Situation& now) override {
    STITCH_TRY(std::optional<agents::Proposal> theirs, planner_->propose(now));
    if (theirs || done_ || !now.best) return theirs;
    done_ = true;
    STITCH_TRY(Proposed proposed, with_learned_choices(now.context, now.best->plan, committee_));
    if (proposed.changed.empty()) return theirs;
    agents::Proposal out{.step = std::string(learned_step),
                         .why = "as the compact Coder would have it",
                         .plan = std::move(proposed.plan),
                         .judging = now.best->judging};
    out.predicted_seconds = plan::estimate(now.context, out.plan);
    return std::optional(std::move(out));
  }

  Result<bool> replan(const agents::Situation& now) override { return planner_->replan(now); }

  std::vector<plan::Step> remaining(const agents::Situation& now) override {
    std::vector<plan::Step> out = planner_->remaining(now);
    if (!done_ && now.best)
      out.push_back({std::string(learned_step), "as the compact Coder would have it", {}, 0});
    return out;
  }

 private:
  std::unique_ptr<agents::Planner> planner_;
  Committee committee_;
  bool done_ = false;
};

}  // namespace

Result<Committee> load_coder(const fs::path& file) {
  auto read = file == shipped_coder ? parse_weights(std::as_bytes(embedded_coder_sm_90)) : read_weights(file);
  if (!read) {
    Error error = std::move(read).error();
    error.fix = format("give the coder.safetensors that stitchcuda train wrote, or {}", shipped_coder);
    return error;
  }
  const auto about = parse_json(read->about);
  const bool known = about && about->is_object() && about->value("stitchcuda_coder", 0) == 1;
  if (!known || about->value("features", 0) != feature_version ||
      read->members[0].shape().features() != feature_count())
    return at(file.string(),
              user_error("weights", "these weights were trained for another version's features",
                         "train them again: stitchcuda train"));
  Committee out{.members = std::move(read->members)};
  const bool whole = about->contains("caution") && (*about)["caution"].is_number() &&
                     about->contains("ways") && (*about)["ways"].is_array();
  if (!whole)
    return at(file.string(), user_error("weights", "no caution is stored in the weights",
                                        "train them again: stitchcuda train"));
  out.caution = (*about)["caution"].get<double>();
  for (const Json& each : (*about)["ways"])
    if (each.is_string()) out.known_ways.insert(each.get<std::string>());
  return out;
}

Result<Proposed> with_learned_choices(const plan::Context& context, plan::Plan plan,
                                      const Committee& committee) {
  auto task = std::make_shared<PlannedTask>();
  task->graph = context.graph;
  task->gpu = context.gpu;
  task->context = std::make_unique<plan::Context>(task->graph, task->gpu, context.numerics, context.torch);
  task->plan = plan;
  EstimatedTimes times;
  Proposed out{.plan = std::move(plan), .changed = {}};
  for (RegionProblem& problem : problems_of(task)) {
    RegionQuestion question(problem, times);
    if (question.choices().empty()) continue;
    const size_t choice = decide(committee, question);
    if (choice == 0) continue;
    plan::Region& region = out.plan.regions[problem.region];
    const plan::Region before = region;
    region = question.choices()[choice];
    if (plan::check_whole(context, out.plan))
      out.changed.push_back(region.name);
    else
      region = before;
  }
  return out;
}

std::unique_ptr<agents::Planner> learned_planner(std::unique_ptr<agents::Planner> planner,
                                                 Committee committee) {
  return std::make_unique<LearnedPlanner>(std::move(planner), std::move(committee));
}

std::vector<Forecast> forecasts(std::span<const Scorer> members, RegionQuestion& question) {
  std::vector<Forecast> out(question.choices().size());
  std::vector<std::vector<double>> logs;
  for (size_t m = 0; m < members.size() && !out.empty(); ++m) {
    logs.push_back(members[m].score(question.features()));
    const double built_in = logs.back()[0];
    for (double& each : logs.back()) each = (built_in - each) / sharpness;
  }
  if (logs.empty()) return out;
  const auto count = static_cast<double>(logs.size());
  for (size_t i = 0; i < out.size(); ++i) {
    double squares = 0;
    for (const auto& each : logs) out[i].mean += each[i] / count;
    for (const auto& each : logs) squares += (each[i] - out[i].mean) * (each[i] - out[i].mean);
    out[i].spread = logs.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  }
  return out;
}

std::string way_text(const plan::Region& region) {
  return format("{} {} {}", region.technique->name(), plan::name(region.offer.arithmetic),
                plan::name(region.offer.order));
}

size_t decide(const Committee& committee, RegionQuestion& question) {
  const std::vector<Forecast> known = forecasts(committee.members, question);
  auto is_known = [&](size_t choice) {
    return committee.known_ways.empty() ||
           committee.known_ways.contains(way_text(question.choices()[choice]));
  };
  size_t best = 0;
  double least = std::log(1 - least_gain);
  if (question.choices().empty() || !is_known(0)) return 0;
  for (size_t i = 1; i < known.size(); ++i) {
    const double bound = known[i].mean + committee.caution * known[i].spread;
    if (!(bound < least) || !is_known(i)) continue;
    least = bound;
    best = i;
  }
  return best;
}

}  // namespace stitch::learn
