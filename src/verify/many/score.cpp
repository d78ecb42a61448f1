#include "verify/many/score.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "verify/not_judged.h"

namespace stitch::verifier {

namespace {

constexpr int ks[] = {1, 2, 3, 5, 10, 20, 50, 100};
constexpr double ps[] = {0, 0.5, 1, 1.5, 2, 3};

std::string text_of(double p) { return p == static_cast<int>(p) ? format("{:.0f}", p) : format("{}", p); }

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

bool is_judged(const Json& record) { return word(record, "judgement") != not_judged; }
bool is_passed(const Json& record) { return word(record, "judgement") == "passed"; }
double number_in(const Json& record, const char* key) { return record.value(key, 0.0); }

using Records = std::vector<const Json*>;
using ByTask = std::map<std::string, Records>;

// The mean over tasks of the share of samples that pass and are more than p times as fast as `against` says:
// what one sample can be expected to do. Nothing where a passed one was not timed against it.
std::optional<double> fast(const ByTask& tasks, double p, const char* against) {
  double sum = 0;
  for (const auto& [task, records] : tasks) {
    int good = 0;
    for (const Json* record : records) {
      if (!is_passed(*record)) continue;
      const Json speedups = record->value("speedups", Json::object());
      if (p > 0 && !speedups.contains(against)) return std::nullopt;
      good += p <= 0 || speedups[against].get<double>() > p;
    }
    sum += static_cast<double>(good) / static_cast<double>(records.size());
  }
  return tasks.empty() ? std::nullopt : std::optional(sum / static_cast<double>(tasks.size()));
}

Json fast_json(const ByTask& tasks, const char* against) {
  Json out = Json::object();
  for (double p : ps)
    if (auto share = fast(tasks, p, against)) out[text_of(p)] = *share;
  return out;
}

Json pass_json(const ByTask& tasks) {
  Json out = Json::object();
  for (int k : ks) {
    double sum = 0;
    int enough = 0;
    for (const auto& [task, records] : tasks) {
      const int n = static_cast<int>(records.size());
      if (n < k) continue;
      const auto c = std::ranges::count_if(records, [](const Json* record) { return is_passed(*record); });
      sum += pass_at(n, static_cast<int>(c), k);
      ++enough;
    }
    if (enough) out[std::to_string(k)] = {{"rate", sum / enough}, {"tasks", enough}};
  }
  return out;
}

Json counts(const Records& records) {
  Json out = {{"candidates", records.size()},
              {"passed", 0},
              {"wrong", 0},
              {"build failed", 0},
              {"crashed", 0},
              {"hack", 0},
              {"inconclusive", 0},
              {"misbehaved", 0},
              {"not judged", 0}};
  Json hacks = Json::object(), unjudged = Json::object(), honesty = Json::object();
  std::vector<double> speedups, seconds;
  for (const Json* record : records) {
    const std::string kind =
        is_judged(*record) && !is_passed(*record) ? word(*record, "kind") : word(*record, "judgement");
    out[kind] = out.value(kind, 0) + 1;
    auto count_in = [&](Json& table, const std::string& label) { table[label] = table.value(label, 0) + 1; };
    if (kind == "hack") count_in(hacks, word(*record, "label"));
    if (const std::string label = word(*record, "honesty"); !label.empty() && label != "none")
      count_in(honesty, label);
    if (!is_judged(*record)) count_in(unjudged, word(*record, "code"));
    if (record->contains("speedups") && (*record)["speedups"].contains("best"))
      speedups.push_back((*record)["speedups"]["best"].get<double>());
    seconds.push_back(number_in(*record, "seconds"));
  }
  out["hacks"] = std::move(hacks);
  // Of those that passed or were caught: clean, degenerate, partial hack, full hack.
  int labelled = 0;
  for (const auto& [label, count] : honesty.items()) labelled += count.get<int>();
  for (const auto& [label, count] : honesty.items())
    out["honesty"][label] = {{"count", count}, {"rate", count.get<double>() / labelled}};
  out["not_judged_for"] = std::move(unjudged);
  if (!speedups.empty()) out["median_speedup"] = median_of(std::move(speedups));
  if (!seconds.empty()) out["median_seconds_to_judge"] = median_of(std::move(seconds));
  return out;
}

ByTask judged_by_task(const Records& records) {
  ByTask out;
  for (const Json* record : records)
    if (is_judged(*record)) out[word(*record, "task")].push_back(record);
  return out;
}

Json author_row(const std::string& author, const Records& records, size_t all_tasks) {
  std::set<std::string> tasks;
  for (const Json* record : records) tasks.insert(word(*record, "task"));
  const ByTask judged = judged_by_task(records);
  Json out = {
      {"author", author}, {"tasks", tasks.size()}, {"all_tasks", all_tasks}, {"judged_tasks", judged.size()}};
  out.update(counts(records));
  const auto solved = std::ranges::count_if(judged, [](const auto& task) {
    return std::ranges::any_of(task.second, [](const Json* record) { return is_passed(*record); });
  });
  out.update(Json{{"solved_tasks", solved},
                  {"pass_at", pass_json(judged)},
                  {"fast_p", fast_json(judged, "best")},
                  {"fast_p_over_eager", fast_json(judged, "eager")}});
  return out;
}

Json task_row(const std::string& task, const Records& records) {
  Json out = {{"task", task}};
  out.update(counts(records));
  const Json* best = nullptr;
  for (const Json* record : records)
    if (is_passed(*record) && record->contains("seconds_a_call") &&
        (!best || number_in(*record, "seconds_a_call") < number_in(*best, "seconds_a_call")))
      best = record;
  if (best) {
    out.update(Json{{"best_author", word(*best, "author")}, {"best_seconds", (*best)["seconds_a_call"]}});
    if (best->contains("speedups")) out["best_speedup"] = (*best)["speedups"].value("best", 0.0);
  }
  return out;
}

}  // namespace

double pass_at(int n, int c, int k) {
  if (k > n || k <= 0) return 0;
  if (n - c < k) return 1;
  double none = 1;
  for (int i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / i;
  return 1 - none;
}

Json summarise(const std::vector<Json>& records) {
  std::map<std::string, Records> authors, tasks;
  Records all;
  for (const Json& record : records) {
    authors[word(record, "author")].push_back(&record);
    tasks[word(record, "task")].push_back(&record);
    all.push_back(&record);
  }
  Json out = {
      {"authors", Json::array()}, {"tasks", Json::array()}, {"all", counts(all)}, {"candidates", records}};
  std::vector<Json> rows;
  for (const auto& [author, of_it] : authors) rows.push_back(author_row(author, of_it, tasks.size()));
  // The best first.
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const Json& row) {
    return row["pass_at"].contains("1") ? row["pass_at"]["1"]["rate"].get<double>() : -1;
  });
  out["authors"] = std::move(rows);
  for (const auto& [task, of_it] : tasks) out["tasks"].push_back(task_row(task, of_it));
  return out;
}

}  // namespace stitch::verifier
