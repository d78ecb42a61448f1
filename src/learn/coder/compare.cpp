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

constexpr double near_the_best = 1.05;

std::vector<size_t> order_by(const std::vector<double>& keys) {
  std::vector<size_t> out(keys.size());
  std::iota(out.begin(), out.end(), size_t{0});
  std::ranges::stable_sort(out, {}, [&](size_t i) { return keys[i]; });
  return out;
}

double trials_until_near(const std::vector<double>& seconds, const std::vector<size_t>& order) {
  const double enough = near_the_best * std::ranges::min(seconds);
  for (size_t i = 0; i < order.size(); ++i)
    if (seconds[order[i]] <= enough) return static_cast<double>(i + 1);
  return static_cast<double>(order.size());
}

// The best of the first quarter of the trials over the best of all.
double after_a_quarter(const std::vector<double>& seconds, const std::vector<size_t>& order) {
  const size_t tried = std::max<size_t>(1, order.size() / 4);
  double best = seconds[order[0]];
  for (size_t i = 1; i < tried; ++i) best = std::min(best, seconds[order[i]]);
  return best / std::ranges::min(seconds);
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

Comparison compare(const Committee& committee, const std::vector<RegionProblem>& problems, Times& times,
                   uint64_t seed, std::span<const NamedCalibration> calibrations,
                   const std::vector<double>& cautions) {
  Comparison out;
  const std::string coder = "compact Coder";
  std::vector<std::string> names = {coder};
  auto with_caution = [&](double caution) { return format("{}, caution {}", coder, caution); };
  for (double caution : cautions) names.push_back(with_caution(caution));
  names.insert(names.end(), {"built-in Planner", "least estimate"});
  for (const NamedCalibration& each : calibrations) names.push_back(each.name);
  names.insert(names.end(), {"random", "best"});
  const std::vector<std::string> orders = {coder, "built-in, then in order", "random"};
  std::map<std::string, std::vector<double>> logs, trials, shares;
  Draw draw(seed);
  for (const RegionProblem& problem : problems) {
    RegionQuestion question(problem, times);
    // What is known to have run; the built-in choice is the first.
    std::vector<size_t> known;
    std::vector<double> seconds;
    for (size_t i = 0; i < question.choices().size(); ++i)
      if (question.time_of(i).kind == Timed::Kind::timed) {
        known.push_back(i);
        seconds.push_back(question.time_of(i).seconds);
      }
    if (known.size() < 2 || known[0] != 0) continue;
    ++out.problems;
    ComparedRegion region{
        .task = problem.task->name,
        .region = problem.now().name,
        .kind = std::string(
            kind_names[static_cast<size_t>(plan::kind_of(problem.context().graph, problem.now()))]),
        .key = problem.key,
        .choices = static_cast<int>(known.size()),
        .built_in = seconds[0],
        .time_over_built_in = {},
        .trials = {},
        .after_a_quarter = {},
        .chosen = {}};
    const auto count = static_cast<double>(known.size());
    auto note = [&](const std::string& name, double log) {
      logs[name].push_back(log);
      region.time_over_built_in.emplace_back(name, std::exp(log));
    };
    auto searched = [&](const std::string& name, const std::vector<size_t>& order) {
      const double tried = trials_until_near(seconds, order);
      trials[name].push_back(tried);
      region.trials.emplace_back(name, tried);
      region.after_a_quarter.emplace_back(name, after_a_quarter(seconds, order));
      shares[name].push_back(tried / count);
    };
    auto over = [&](size_t i) { return std::log(seconds[i] / seconds[0]); };
    const std::vector<Forecast> forecast = forecasts(committee.members, question);
    // What failed is not taken: the Verifier would refuse it.
    auto chosen_with = [&](double caution) {
      const auto found = std::ranges::find(known, decide(committee, question, forecast, caution));
      return found == known.end() ? 0.0 : over(static_cast<size_t>(found - known.begin()));
    };
    note(coder, chosen_with(committee.caution));
    for (double caution : cautions) note(with_caution(caution), chosen_with(caution));
    note("built-in Planner", 0);
    // Its choice, the built-in one if that is another, then by forecast.
    const size_t first = decide(committee, question, forecast, committee.caution);
    std::vector<double> keys, estimates, drawn, in_order;
    for (size_t i : known) {
      keys.push_back(i == first ? -2e9 : i == 0 ? -1e9 : forecast[i].mean);
      estimates.push_back(plan::estimate(problem.context(), problem.plan(), question.choices()[i]).seconds());
      drawn.push_back(draw.uniform());
      in_order.push_back(static_cast<double>(i));
    }
    searched(orders[0], order_by(keys));
    const size_t least = order_by(estimates)[0];
    note("least estimate", over(least));
    auto say = [&](const std::string& name, size_t i) {
      region.chosen.emplace_back(name, choice_text(question.choices()[known[i]]));
    };
    const auto taken = std::ranges::find(known, first);
    say(coder, taken == known.end() ? 0 : static_cast<size_t>(taken - known.begin()));
    say("built-in Planner", 0);
    say("least estimate", least);
    say("best", order_by(seconds)[0]);
    for (const NamedCalibration& each : calibrations) {
      std::vector<double> calibrated;
      for (size_t i : known) {
        const plan::Region& chosen = question.choices()[i];
        calibrated.push_back(
            plan::seconds_of(plan::estimate_without_calibration(problem.context(), problem.plan(), chosen),
                             each.calibration->find(plan::way_of(chosen))));
      }
      note(each.name, over(order_by(calibrated)[0]));
    }
    double mean = 0;
    for (size_t i = 0; i < known.size(); ++i) mean += over(i) / count;
    note("random", mean);
    note("best", std::log(std::ranges::min(seconds) / seconds[0]));
    // The tuner's road: what the program has, then value after value.
    searched(orders[1], order_by(in_order));
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
    Json row = {{"task", each.task},
                {"region", each.region},
                {"kind", each.kind},
                {"key", each.key},
                {"choices", each.choices},
                {"built_in", each.built_in},
                {"time", {}},
                {"trials", {}},
                {"after_a_quarter", {}},
                {"chosen", {}}};
    for (const auto& [who, ratio] : each.time_over_built_in) row["time"][who] = ratio;
    for (const auto& [who, tried] : each.trials) row["trials"][who] = tried;
    for (const auto& [who, ratio] : each.after_a_quarter) row["after_a_quarter"][who] = ratio;
    for (const auto& [who, choice] : each.chosen) row["chosen"][who] = choice;
    out["regions"].push_back(std::move(row));
  }
  return out;
}

Calibration fit_calibration(const std::vector<RegionProblem>& problems, Times& times) {
  std::vector<plan::CostSample> samples;
  for (const RegionProblem& problem : problems) {
    RegionQuestion question(problem, times);
    for (size_t i = 0; i < question.choices().size(); ++i) {
      const plan::Region& chosen = question.choices()[i];
      const Timed timed = question.time_of(i);
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
