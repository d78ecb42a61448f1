// A benchmark's summary for people: as a table, and as a page.
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "base/text.h"
#include "cli/bench.h"
#include "cli/html.h"

namespace stitch {

namespace {

std::string percent(const Json& score, const char* key) {
  return score.contains(key) ? format("{:.0f} %", 100 * score[key].get<double>()) : "–";
}

std::string speedup(const Json& score, const char* against, const char* kind) {
  const Json all = score.value("speedup", Json::object());
  return all.contains(against) ? format("{:.2f}x", all[against][kind].get<double>()) : "–";
}

// One line a group: the same cells in both forms.
std::vector<std::string> score_header() {
  return {"",           "passed",           "fast_1",          "fast_1.5",         "fast_2",
          "fast_3",     "mean vs best",     "geomean vs best", "vs eager",         "vs eager-graph",
          "vs compile", "vs compile-graph", "% of limit",      "memory vs PyTorch"};
}
std::vector<std::string> score_cells(const std::string& name, const Json& score) {
  std::vector<std::string> out = {name, format("{}/{}", score.value("passed", 0), score.value("tasks", 0))};
  for (const char* key : {"fast_1", "fast_1.5", "fast_2", "fast_3"}) out.push_back(percent(score, key));
  out.push_back(speedup(score, "best", "mean"));
  for (const char* kind : {"best", "eager", "eager-graph", "compile", "compile-graph"})
    out.push_back(speedup(score, kind, "geometric_mean"));
  out.push_back(score.contains("share_of_floor")
                    ? format("{:.0f} %", 100 * score["share_of_floor"]["mean"].get<double>())
                    : "–");
  out.push_back(score.contains("share_of_memory")
                    ? format("{:.0f} %", 100 * score["share_of_memory"]["geometric_mean"].get<double>())
                    : "–");
  return out;
}

std::vector<std::string> task_header() {
  return {"task",    "result",     "per call",          "best baseline", "which",
          "speedup", "% of limit", "memory vs PyTorch", "time taken"};
}
std::vector<std::string> task_cells(const Json& task) {
  bool passed = task.at("passed").get<bool>();
  double own = task.value("seconds_a_call", 0.0);
  std::vector<std::string> out = {word(task, "task"), passed ? "passed" : word(task, "code"),
                                  passed && own > 0 ? seconds_text(own) : "–"};
  std::string best = word(task, "best_baseline");
  bool known = task.value("best_baseline_known", false);
  if (best.empty()) {
    out.insert(out.end(), {"–", "", "–"});
  } else {
    out.push_back(seconds_text(task[known ? "known_baselines" : "baselines"][best].get<double>()));
    out.push_back(best + (known ? " (known)" : ""));
    out.push_back(format("{:.2f}x", task["speedups"]["best"].get<double>()));
  }
  out.push_back(
      task.contains("share_of_floor") ? format("{:.0f} %", 100 * task["share_of_floor"].get<double>()) : "–");
  out.push_back(task.contains("share_of_memory")
                    ? format("{:.0f} %", 100 * task["share_of_memory"].get<double>())
                    : "–");
  out.push_back(seconds_text(task.value("seconds", 0.0)));
  return out;
}

std::string bottleneck(const Json& far) {
  std::vector<std::string> kernels;
  for (const Json& kernel : far.value("kernels", Json::array()))
    kernels.push_back(
        format("{} ({})", word(kernel, "name"), seconds_text(kernel.value("nanoseconds", 0.0) * 1e-9)));
  return join(kernels, ", ");
}

// "Cost model: …" for people; empty where nothing was measured.
std::string model_note(const Json& summary) {
  std::vector<std::string> each;
  const Json errors = summary.value("cost_model", Json::object());
  for (const char* of : {"calls", "regions"})
    if (errors.contains(of))
      each.push_back(format("{} {}: median error {:.2f}x, {:.0f} % within 2x", errors[of]["samples"].dump(),
                            of, errors[of]["median_ratio"].get<double>(),
                            100 * errors[of]["within_2x"].get<double>()));
  return each.empty() ? "" : "Cost model: " + join(each, "; ") + ". ";
}

std::string times_note(const Json& summary) {
  std::string out = model_note(summary);
  if (word(summary, "times") == "estimated")
    out +=
        format("Times are the Planner's estimates for a {}, not measurements. ", word(summary["run"], "gpu"));
  if (!word(summary["run"], "known_baselines").empty())
    out +=
        format("Baselines marked known were measured earlier: {}. ", word(summary["run"], "known_baselines"));
  if (int left = summary.value("not_done", 0)) out += format("{} tasks are still to do. ", left);
  return out +
         "Speedups are over PyTorch's fastest baseline (best), or over the one named. fast_p: the share of "
         "tasks that pass and are more than p times as fast as the best baseline. % of limit: the "
         "theoretical limit over the program's time. Memory vs PyTorch: the program's peak memory over "
         "PyTorch's.";
}

std::vector<HtmlCell> html_row(const std::vector<std::string>& cells, size_t texts) {
  std::vector<HtmlCell> out;
  for (size_t i = 0; i < cells.size(); ++i) out.push_back({cells[i], i < texts ? "text" : "n"});
  return out;
}

}  // namespace

std::string bench_text(const Json& summary, const Terminal& terminal) {
  std::vector<Column> columns;
  for (const std::string& header : task_header()) columns.push_back({.header = header});
  columns[0].cut = Cut::start;
  columns[0].least = 24;
  columns[1].least = 8;
  for (size_t i : {2, 3, 5, 6, 7, 8}) columns[i].align = Column::Align::right;
  Table tasks(columns);
  for (const Json& task : summary.at("tasks")) {
    std::vector<Cell> row;
    for (std::string& cell : task_cells(task)) row.emplace_back(std::move(cell));
    row[1].style = task["passed"].get<bool>() ? Style::good : Style::bad;
    tasks.add_row(std::move(row));
  }
  columns.clear();
  for (const std::string& header : score_header())
    columns.push_back({.header = header, .align = Column::Align::right});
  columns[0].align = Column::Align::left;
  for (size_t i = 7; i < columns.size(); ++i) columns[i].optional = static_cast<int>(i);
  Table scores(columns);
  auto add = [&](const std::string& name, const Json& score) {
    std::vector<Cell> row;
    for (std::string& cell : score_cells(name, score)) row.emplace_back(std::move(cell));
    scores.add_row(std::move(row));
  };
  for (const auto& [name, score] : summary.at("groups").items()) add(name, score);
  add("all", summary.at("all"));
  return tasks.render(terminal) + '\n' + scores.render(terminal) + '\n' + times_note(summary) + '\n';
}

std::string bench_page(const Json& summary) {
  const Json& run = summary.at("run");
  const Json& all = summary.at("all");
  std::vector<std::vector<HtmlCell>> scores, tasks, failures, furthest;
  for (const auto& [name, score] : summary.at("groups").items())
    scores.push_back(html_row(score_cells(name, score), 1));
  scores.push_back(html_row(score_cells("all", all), 1));
  for (const Json& task : summary.at("tasks")) {
    std::vector<HtmlCell> row = html_row(task_cells(task), 2);
    row[1].look = task["passed"].get<bool>() ? "good" : "bad";
    row[4].look = "";
    row.push_back({word(task, "reason"), "long"});
    tasks.push_back(std::move(row));
  }
  for (const auto& [code, count] : summary.at("failures").items())
    failures.push_back({{code}, {count.dump(), "n"}});
  for (const Json& far : summary.at("furthest"))
    furthest.push_back({{word(far, "task"), "text"},
                        {format("{:.0f} %", 100 * far["share_of_floor"].get<double>()), "n"},
                        {bottleneck(far), "long"}});
  std::vector<std::pair<std::string, std::string>> facts = {
      {format("{}/{}", all.value("passed", 0), all.value("tasks", 0)), "passed"},
      {percent(all, "fast_1"), "fast_1"},
      {percent(all, "fast_2"), "fast_2"},
      {speedup(all, "best", "geometric_mean"), "geomean over the best baseline"},
      {word(run, "numerics"), "numerics class"},
      {word(run, "gpu"), word(run, "device")},
      {word(run, "version"), "stitchcuda, " + word(run, "date")}};
  std::vector<std::string> header = task_header();
  header.emplace_back("reason");
  std::string body = html_facts(facts) + format("<p class=\"note\">{}</p>", escaped(times_note(summary))) +
                     html_table(score_header(), scores);
  if (!failures.empty()) body += "<h2>Why tasks failed</h2>" + html_table({"failed gate", "tasks"}, failures);
  if (!furthest.empty())
    body += "<h2>Furthest from their theoretical limit</h2>" +
            html_table({"task", "% of limit", "kernels"}, furthest);
  body += "<h2>Tasks</h2>" + html_table(header, tasks) + "<h2>Run settings</h2><pre class=\"mono\">" +
          escaped(run.dump(2, ' ', false, Json::error_handler_t::replace)) + "</pre>";
  return html_page("stitchcuda bench", body);
}

}  // namespace stitch
