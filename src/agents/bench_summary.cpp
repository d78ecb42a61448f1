#include "agents/bench.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/cost/cost_fit.h"

namespace stitch::agents {

namespace {

constexpr double thresholds[] = {1, 1.5, 2, 3};
constexpr const char* kinds[] = {"eager", "eager-graph", "compile", "compile-graph"};
constexpr size_t most_furthest = 20;

// level1/9_X of a row with level 1, and plain 9_X.
std::string name_in_row(const Json& row) {
  if (row.contains("task")) return word(row, "task");
  std::string name = word(row, "name");
  return row.contains("level") ? format("level{}/{}", row["level"].dump(), name) : name;
}

KnownTimes times_in_row(const Json& row) {
  KnownTimes out;
  for (std::string kind : kinds) {
    if (row.contains("baselines") && row["baselines"].contains(kind))
      out.seconds[kind] = row["baselines"][kind];
    std::string spelt = kind;
    std::ranges::replace(spelt, '-', '_');
    if (auto found = row.find(spelt + "_ms"); found != row.end() && found->is_number()) {
      out.seconds[kind] = found->get<double>() * 1e-3;
      out.by_events = true;
    }
  }
  return out;
}

// Python writes NaN and Infinity, which JSON has no words for.
std::string without_infinities(std::string line) {
  for (std::string_view word : {"-Infinity", "Infinity", "NaN"})
    for (size_t at; (at = line.find(word)) != line.npos;) line.replace(at, word.size(), "null");
  return line;
}

constexpr const char* label_names[] = {"clean", "degenerate", "partial hack", "full hack", "inconclusive"};

// As the rubric has it, or that nothing was proved; empty: neither passed nor caught.
std::string label_of(const Json& task) {
  if (word(task, "code").ends_with(": inconclusive")) return "inconclusive";
  return word(task, "honesty");
}

// S of SOL-ExecBench: 1 at the floor, 0.5 at the best baseline. Times are of one measure.
void set_score(Json& task, double own, double floor, double baseline) {
  if (floor > 0 && own < floor) task["below_floor"] = true;
  const char* why = floor <= 0          ? "no floor is known"
                    : own < floor       ? "it is faster than its floor"
                    : baseline <= 0     ? "no baseline was measured"
                    : baseline <= floor ? "the best baseline is at the floor"
                                        : nullptr;
  if (why)
    task["no_score"] = why;
  else
    task["score"] = 1 / (1 + (own - floor) / (baseline - floor));
}

struct Score {
  int tasks = 0, passed = 0;
  int compared = 0;                                // those with a baseline, and those that failed
  std::map<std::string, std::vector<double>> won;  // speedups by baseline, "best" among them
  std::vector<double> share;                       // of the floor
  std::vector<double> score;                       // of those that passed and have one
  int unscored = 0, below_floor = 0;
  std::vector<double> memory;         // over PyTorch's
  double seconds = 0;                 // to optimise
  std::map<std::string, int> labels;  // who did the work

  void add(const Json& task) {
    ++tasks;
    bool right = task.at("passed").get<bool>();
    passed += right;
    seconds += task.value("seconds", 0.0);
    if (const std::string label = label_of(task); !label.empty()) ++labels[label];
    compared += !right || task.contains("best_baseline");
    const Json speedups = task.value("speedups", Json::object());
    for (const auto& [kind, times] : speedups.items()) won[kind].push_back(times.get<double>());
    if (task.contains("share_of_memory")) memory.push_back(task["share_of_memory"].get<double>());
    if (task.contains("share_of_floor")) share.push_back(task["share_of_floor"].get<double>());
    if (task.contains("score")) score.push_back(task["score"].get<double>());
    unscored += task.contains("no_score");
    below_floor += task.contains("below_floor");
  }

  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (double value : values) sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
  }

  static double geometric_mean(const std::vector<double>& values) {
    double sum = 0;
    for (double value : values) sum += std::log(value);
    return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
  }

  Json json() const {
    Json out = {{"tasks", tasks}, {"passed", passed}, {"compared", compared}, {"seconds", seconds}};
    for (const char* label : label_names) {
      const auto found = labels.find(label);
      const int count = found == labels.end() ? 0 : found->second;
      out["labels"][label] = {{"count", count}, {"rate", tasks ? static_cast<double>(count) / tasks : 0.0}};
    }
    if (auto best = won.find("best"); best != won.end())
      for (double threshold : thresholds)
        out[format("fast_{}", threshold)] =
            static_cast<double>(
                std::ranges::count_if(best->second, [&](double times) { return times > threshold; })) /
            compared;
    for (const auto& [kind, times] : won)
      out["speedup"][kind] = {
          {"tasks", times.size()}, {"mean", mean(times)}, {"geometric_mean", geometric_mean(times)}};
    if (!memory.empty())
      out["share_of_memory"] = {
          {"geometric_mean", geometric_mean(memory)},
          {"tasks", memory.size()},
          {"above", std::ranges::count_if(memory, [](double share) { return share > 1; })}};
    if (!share.empty()) out["share_of_floor"] = {{"mean", mean(share)}, {"tasks", share.size()}};
    if (!score.empty()) {
      // What failed has a score of 0; of what can't be scored nothing is said.
      std::vector<double> all = score;
      all.resize(score.size() + static_cast<size_t>(tasks - passed));
      out["score"] = {{"mean", mean(all)}, {"tasks", all.size()}, {"mean_of_passed", mean(score)}};
    }
    if (unscored) out["unscored"] = unscored;
    if (below_floor) out["below_floor"] = below_floor;
    return out;
  }
};

// A record with what follows from it.
Json judged(const Json& record) {
  Json task = record;
  if (!task.at("passed").get<bool>()) return task;
  double own = task.value("seconds_a_call", 0.0), floor = task.value("floor_seconds", 0.0);
  if (own <= 0) return task;
  if (floor > 0) task["share_of_floor"] = floor / own;
  const Json memory = task.value("memory", Json::object());
  double program = memory.value("program_bytes", 0.0), pytorch = memory.value("pytorch_bytes", 0.0);
  if (program > 0 && pytorch > 0) task["share_of_memory"] = program / pytorch;
  double least = 0, compared = own;  // by the measure of the best baseline
  for (const char* source : {"baselines", "known_baselines"}) {
    const bool known = std::string_view(source) == "known_baselines";
    const bool by_events = known && task.value("known_by_events", false);
    const double ours = by_events ? task.value("event_seconds_a_call", own) : own;
    const Json times = task.value(source, Json::object());
    for (const auto& [kind, seconds] : times.items()) {
      const double speedup = seconds.get<double>() / ours;
      task["speedups"][kind] = speedup;
      if (least != 0 && speedup >= least) continue;
      least = speedup;
      compared = ours;
      task["best_baseline"] = kind;
      task["best_baseline_known"] = known;
    }
  }
  if (least > 0) task["speedups"]["best"] = least;
  if (word(task, "times") == "measured") set_score(task, compared, floor, least * compared);
  return task;
}

Json furthest_from_floor(const Json& tasks) {
  std::vector<const Json*> order;
  for (const Json& task : tasks)
    if (task.contains("share_of_floor")) order.push_back(&task);
  std::ranges::stable_sort(order, [](const Json* a, const Json* b) {
    return a->at("share_of_floor").get<double>() < b->at("share_of_floor").get<double>();
  });
  Json out = Json::array();
  for (size_t i = 0; i < std::min(order.size(), most_furthest); ++i) {
    const Json& task = *order[i];
    Json one = {{"task", task.at("task")}, {"share_of_floor", task.at("share_of_floor")}};
    one["kernels"] = Json::array();
    for (const Json& kernel : task.value("kernels", Json::array()))
      if (kernel.value("nanoseconds", int64_t{0}) > 0 && one["kernels"].size() < 3)
        one["kernels"].push_back(kernel);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<KnownBaselines> read_known_baselines(const fs::path& file, const std::string& numerics) {
  STITCH_TRY(std::string text, read_file(file));
  KnownBaselines out;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto row = parse_json(without_infinities(line));
    if (!row || !row->is_object())
      return at(format("{}:{}", file.string(), number),
                user_error("known_baselines", "is not a JSON line with a task and its times"));
    if (row->value("numerics", "default") != numerics) continue;
    KnownTimes times = times_in_row(*row);
    if (!times.seconds.empty()) out.tasks[name_in_row(*row)] = std::move(times);
  }
  return out;
}

namespace {

const KnownTimes* known_times(const KnownBaselines& known, const std::string& task) {
  auto found = known.tasks.find(task);
  if (found == known.tasks.end()) found = known.tasks.find(fs::path(task).filename().string());
  return found == known.tasks.end() ? nullptr : &found->second;
}

}  // namespace

double best_known(const KnownBaselines& known, const std::string& task) {
  const KnownTimes* times = known_times(known, task);
  double out = 0;
  if (times)
    for (const auto& [kind, seconds] : times->seconds) out = out > 0 ? std::min(out, seconds) : seconds;
  return out;
}

void add_known(const KnownBaselines& known, Json& record) {
  const KnownTimes* times = known_times(known, word(record, "task"));
  if (!times) return;
  record["known_by_events"] = times->by_events;
  for (const auto& [kind, seconds] : times->seconds)
    if (!record.contains("baselines") || !record["baselines"].contains(kind))
      record["known_baselines"][kind] = seconds;
}

namespace {

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Seconds to optimise a task: median and most, and the medians of their phases and of what was waited for.
Json times_to_optimise(const std::vector<std::shared_ptr<const Json>>& records) {
  std::vector<double> totals;
  std::map<std::string, std::map<std::string, std::vector<double>>> parts;
  for (const auto& record : records) {
    if (!record || record->value("seconds", 0.0) <= 0) continue;
    totals.push_back(record->value("seconds", 0.0));
    const Json time = record->value("time", Json::object());
    for (const char* part : {"phases", "waiting"}) {
      const Json entries = time.value(part, Json::object());
      for (const auto& [name, seconds] : entries.items())
        if (seconds.is_number()) parts[part][name].push_back(seconds.get<double>());
    }
  }
  if (totals.empty()) return nullptr;
  Json out = {{"tasks", totals.size()}, {"median", median_of(totals)}, {"most", std::ranges::max(totals)}};
  for (auto& [part, names] : parts)
    for (auto& [name, seconds] : names) {
      seconds.resize(totals.size());  // the others spent nothing on it
      out[part][name] = median_of(seconds);
    }
  return out;
}

Json error_json(const std::vector<std::pair<double, double>>& predicted_and_measured) {
  const plan::CostError error = plan::error_of(predicted_and_measured);
  return {{"samples", error.samples}, {"median_ratio", error.median}, {"within_2x", error.within_double}};
}

// How far the cost model's predictions are from what was measured: of whole calls, and of regions.
Json model_error(const std::vector<std::shared_ptr<const Json>>& records) {
  std::vector<std::pair<double, double>> calls, regions;
  for (const auto& record : records) {
    if (!record || word(*record, "times") != "measured") continue;
    const double predicted = record->value("predicted_seconds", 0.0),
                 seconds = record->value("seconds_a_call", 0.0);
    if (predicted > 0 && seconds > 0) calls.emplace_back(predicted, seconds);
    for (const Json& each : record->value("cost", Json::array()))
      if (auto sample = plan::read_sample(each); sample && each.contains("predicted"))
        regions.emplace_back(each["predicted"].get<double>(), sample->measured);
  }
  Json out = Json::object();
  if (!calls.empty()) out["calls"] = error_json(calls);
  if (!regions.empty()) out["regions"] = error_json(regions);
  return out;
}

// Over all tasks: by author what its tries came to, and what all models took.
Json figures_of_models(const std::vector<std::shared_ptr<const Json>>& records) {
  struct Figures {
    int tasks = 0, improved = 0, steps = 0, kept = 0;
    std::vector<double> gains;
    std::map<std::string, int> outcomes;
  };
  std::map<std::string, Figures> models;
  for (const auto& record : records) {
    if (!record) continue;
    const Json of_task = record->value("models", Json::object());
    for (const auto& [author, each] : of_task.items()) {
      Figures& figures = models[author];
      const int kept = each.value("kept", 0);
      ++figures.tasks;
      figures.improved += kept > 0;
      figures.steps += each.value("steps", 0);
      figures.kept += kept;
      figures.gains.push_back(each.value("gain", 1.0));
      const Json outcomes = each.value("outcomes", Json::object());
      for (const auto& [outcome, count] : outcomes.items()) figures.outcomes[outcome] += count.get<int>();
    }
  }
  Json out = Json::object();
  for (const auto& [author, figures] : models)
    out[author] = {{"tasks", figures.tasks},
                   {"improved", figures.improved},
                   {"steps", figures.steps},
                   {"kept", figures.kept},
                   {"gain", Score::geometric_mean(figures.gains)},
                   {"outcomes", figures.outcomes}};
  return out;
}

Json spent_on_models(const std::vector<std::shared_ptr<const Json>>& records) {
  Json out = {{"requests", 0}, {"tokens", int64_t{0}}, {"dollars", 0.0}, {"seconds", 0.0}, {"unpriced", 0}};
  bool any = false;
  for (const auto& record : records) {
    if (!record || !record->contains("llm")) continue;
    any = true;
    const Json& spent = record->at("llm");
    const Json usage = spent.value("usage", Json::object());
    out["tokens"] =
        out["tokens"].get<int64_t>() + usage.value("input", int64_t{0}) + usage.value("output", int64_t{0});
    for (const char* count : {"requests", "unpriced"})
      out[count] = out[count].get<int>() + spent.value(count, 0);
    for (const char* amount : {"dollars", "seconds"})
      out[amount] = out[amount].get<double>() + spent.value(amount, 0.0);
  }
  return any ? out : Json();
}

}  // namespace

Json summarise(const std::vector<std::shared_ptr<const Json>>& records) {
  Json out = {{"all", Json::object()},
              {"groups", Json::object()},
              {"failures", Json::object()},
              {"tasks", Json::array()},
              {"not_done", 0}};
  Score all;
  std::map<std::string, Score> groups;
  std::map<std::string, int> failures;
  int not_done = 0;
  bool measured = true;
  for (const auto& record : records) {
    not_done += !record;
    if (!record) continue;
    Json task = judged(*record);
    all.add(task);
    groups[word(task, "group")].add(task);
    if (!task["passed"].get<bool>()) ++failures[word(task, "code")];
    measured = measured && word(task, "times") != "estimated";
    out["tasks"].push_back(std::move(task));
  }
  out["times"] = measured ? "measured" : "estimated";
  out["all"] = all.json();
  for (const auto& [name, score] : groups) out["groups"][name] = score.json();
  for (const auto& [code, count] : failures) out["failures"][code] = count;
  out["not_done"] = not_done;
  out["furthest"] = furthest_from_floor(out["tasks"]);
  if (Json error = model_error(records); !error.empty()) out["cost_model"] = std::move(error);
  if (Json models = figures_of_models(records); !models.empty()) out["models"] = std::move(models);
  if (Json spent = spent_on_models(records); !spent.is_null()) out["llm"] = std::move(spent);
  if (Json times = times_to_optimise(records); !times.is_null()) out["optimising"] = std::move(times);
  return out;
}

}  // namespace stitch::agents
