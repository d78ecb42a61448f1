#include "learn/coder/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "learn/grpo/grpo.h"
#include "learn/grpo/trainer.h"
#include "plan/cost_fit.h"

namespace stitch::learn {

namespace {

constexpr size_t most_answers = 4096;
constexpr double near_the_best = 1.05;

// Everything known of a problem: each choice with its time.
struct Known {
  std::vector<std::vector<int>> answers;
  std::vector<double> seconds;
  double built_in = 0;
};

Known known_of(RegionQuestion& question, Times& times) {
  Known out;
  const Timed built_in = times.of(question.problem(), question.problem().now());
  if (built_in.kind != Timed::Kind::timed) return out;
  for (std::vector<int>& answer : question.all_answers(most_answers)) {
    const Timed timed = times.of(question.problem(), question.region_of(answer));
    if (timed.kind != Timed::Kind::timed) continue;
    out.answers.push_back(std::move(answer));
    out.seconds.push_back(timed.seconds);
  }
  if (!out.answers.empty()) out.built_in = built_in.seconds;
  return out;
}

std::vector<size_t> order_by(const std::vector<double>& keys) {
  std::vector<size_t> out(keys.size());
  std::iota(out.begin(), out.end(), size_t{0});
  std::ranges::stable_sort(out, {}, [&](size_t i) { return keys[i]; });
  return out;
}

double trials_until_near(const Known& known, const std::vector<size_t>& order) {
  const double enough = near_the_best * std::ranges::min(known.seconds);
  for (size_t i = 0; i < order.size(); ++i)
    if (known.seconds[order[i]] <= enough) return static_cast<double>(i + 1);
  return static_cast<double>(order.size());
}

Standing standing_of(std::string name, const std::vector<double>& logs, Draw& draw) {
  Standing out{.name = std::move(name)};
  auto mean_of = [](const std::vector<double>& values) {
    return std::exp(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
  };
  out.mean = mean_of(logs);
  std::vector<double> means;
  for (int round = 0; round < 1000; ++round) {
    std::vector<double> drawn;
    for (size_t i = 0; i < logs.size(); ++i)
      drawn.push_back(logs[static_cast<size_t>(draw.below(std::ssize(logs)))]);
    means.push_back(mean_of(drawn));
  }
  std::ranges::sort(means);
  out.low = means[25];
  out.high = means[974];
  return out;
}

constexpr std::string_view kind_names[] = {"product",    "convolution", "attention",
                                           "recurrence", "loop",        "any"};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

Comparison compare(std::span<const Scorer> policies, const std::vector<RegionProblem>& problems, Times& times,
                   uint64_t seed, std::span<const NamedCalibration> calibrations,
                   const std::vector<double>& cautions) {
  Comparison out;
  std::vector<std::string> names = {"compact Coder"};
  for (size_t i = 1; i < cautions.size(); ++i)
    names.push_back(format("compact Coder, caution {}", cautions[i]));
  names.insert(names.end(), {"built-in Planner", "least estimate"});
  for (const NamedCalibration& each : calibrations) names.push_back(each.name);
  names.insert(names.end(), {"random", "best"});
  const std::vector<std::string> orders = {"compact Coder", "built-in, then in order", "random"};
  std::map<std::string, std::vector<double>> logs, trials, shares;
  Draw draw(seed);
  for (const RegionProblem& problem : problems) {
    RegionQuestion question(problem, times, [](auto&&...) { return 0.0; });
    const Known known = known_of(question, times);
    if (known.answers.size() < 2) continue;
    ++out.problems;
    ComparedRegion region{
        .task = problem.task->name,
        .region = problem.now().name,
        .kind = std::string(
            kind_names[static_cast<size_t>(plan::kind_of(problem.context().graph, problem.now()))]),
        .key = problem.key,
        .choices = static_cast<int>(known.answers.size()),
        .built_in = known.built_in,
        .time_over_built_in = {},
        .trials = {}};
    const auto count = static_cast<double>(known.answers.size());
    auto note = [&](const std::string& name, double log) {
      logs[name].push_back(log);
      region.time_over_built_in.emplace_back(name, std::exp(log));
    };
    auto searched = [&](const std::string& name, const std::vector<size_t>& order) {
      const double tried = trials_until_near(known, order);
      trials[name].push_back(tried);
      region.trials.emplace_back(name, tried);
      shares[name].push_back(tried / count);
    };
    auto over = [&](size_t i) { return std::log(known.seconds[i] / known.built_in); };
    std::vector<double> chosen(cautions.size());
    for (const Scorer& policy : policies) {
      std::vector<double> keys;
      for (const auto& answer : known.answers) keys.push_back(-log_probability(policy, question, answer));
      const std::vector<size_t> order = order_by(keys);
      searched(orders[0], order);
      for (size_t i = 0; i < cautions.size(); ++i) {
        const Timed proposed = times.of(problem, decide(policy, question, cautions[i]));
        const double seconds = proposed.kind == Timed::Kind::timed ? proposed.seconds : known.built_in;
        chosen[i] += std::log(seconds / known.built_in) / static_cast<double>(policies.size());
      }
    }
    for (size_t i = 0; i < cautions.size() && !policies.empty(); ++i) note(names[i], chosen[i]);
    note("built-in Planner", 0);
    std::vector<double> estimates, drawn;
    for (const auto& answer : known.answers)
      estimates.push_back(
          plan::estimate(problem.context(), problem.plan(), question.region_of(answer)).seconds());
    note("least estimate", over(order_by(estimates)[0]));
    for (const NamedCalibration& each : calibrations) {
      std::vector<double> calibrated;
      for (const auto& answer : known.answers) {
        const plan::Region chosen = question.region_of(answer);
        calibrated.push_back(
            plan::seconds_of(plan::estimate_without_calibration(problem.context(), problem.plan(), chosen),
                             each.calibration->find(plan::way_of(chosen))));
      }
      note(each.name, over(order_by(calibrated)[0]));
    }
    double mean = 0;
    for (size_t i = 0; i < known.answers.size(); ++i) mean += over(i) / count;
    note("random", mean);
    note("best", std::log(std::ranges::min(known.seconds) / known.built_in));
    // The tuner's road: what the program has, then value after value.
    std::vector<double> in_order;
    for (size_t i = 0; i < known.seconds.size(); ++i)
      in_order.push_back(known.seconds[i] == known.built_in ? -1.0 : static_cast<double>(i));
    searched(orders[1], order_by(in_order));
    for (size_t i = 0; i < known.seconds.size(); ++i) drawn.push_back(draw.uniform());
    searched(orders[2], order_by(drawn));
    out.regions.push_back(std::move(region));
  }
  if (out.problems == 0) return out;
  for (const std::string& name : names)
    if (logs.contains(name)) out.standings.push_back(standing_of(name, logs[name], draw));
  for (const std::string& name : orders) {
    if (!trials.contains(name)) continue;
    const std::vector<double>& all = shares[name];
    out.searches.push_back({name, median(trials[name]),
                            std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size())});
  }
  return out;
}

Json to_json(const Comparison& comparison) {
  Json out = {
      {"problems", comparison.problems}, {"time_over_built_in", Json::array()}, {"search", Json::array()}};
  for (const Standing& each : comparison.standings)
    out["time_over_built_in"].push_back(
        {{"who", each.name}, {"geomean", each.mean}, {"low", each.low}, {"high", each.high}});
  for (const Comparison::Search& each : comparison.searches)
    out["search"].push_back(
        {{"who", each.name}, {"median_trials", each.median_trials}, {"mean_share", each.mean_share}});
  out["regions"] = Json::array();
  for (const ComparedRegion& each : comparison.regions) {
    Json row = {
        {"task", each.task},       {"region", each.region},     {"kind", each.kind}, {"key", each.key},
        {"choices", each.choices}, {"built_in", each.built_in}, {"time", {}},        {"trials", {}}};
    for (const auto& [who, ratio] : each.time_over_built_in) row["time"][who] = ratio;
    for (const auto& [who, tried] : each.trials) row["trials"][who] = tried;
    out["regions"].push_back(std::move(row));
  }
  return out;
}

Calibration fit_calibration(const std::vector<RegionProblem>& problems, Times& times) {
  std::vector<plan::CostSample> samples;
  for (const RegionProblem& problem : problems) {
    RegionQuestion question(problem, times, [](auto&&...) { return 0.0; });
    for (const auto& answer : question.all_answers(most_answers)) {
      const plan::Region chosen = question.region_of(answer);
      const Timed timed = times.of(problem, chosen);
      if (timed.kind != Timed::Kind::timed) continue;
      samples.push_back({problem.task->name, problem.now().name, plan::way_of(chosen),
                         plan::estimate_without_calibration(problem.context(), problem.plan(), chosen),
                         timed.seconds});
    }
  }
  const std::string gpu = problems.empty() ? "" : problems[0].context().gpu.name;
  return plan::fit(samples, gpu, format("{} choices of {} regions", samples.size(), problems.size()));
}

}  // namespace stitch::learn
