// A benchmark's summary for people: as a table, and as a page.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/text.h"
#include "base/terminal/wording.h"
#include "cli/commands/optimize/bench.h"
#include "cli/pages/html.h"

namespace stitch {

// Made from page/bench.* by cmake/embed.cmake.
extern const std::string_view embedded_bench_css, embedded_bench_js;

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

// Columns in which some row has a value; the first is the rows' name.
using Shown = std::vector<bool>;
Shown shown_columns(const std::vector<std::vector<std::string>>& rows) {
  Shown out(rows.empty() ? 0 : rows[0].size());
  for (const std::vector<std::string>& row : rows)
    for (size_t i = 0; i < row.size(); ++i) out[i] = out[i] || i == 0 || (!row[i].empty() && row[i] != "–");
  return out;
}
template <class T>
std::vector<T> only(const Shown& shown, std::vector<T> all) {
  std::vector<T> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (i >= shown.size() || shown[i]) out.push_back(std::move(all[i]));
  return out;
}

// The groups, then all of them together.
std::vector<std::vector<std::string>> score_rows(const Json& summary) {
  std::vector<std::vector<std::string>> out;
  for (const auto& [name, score] : summary.at("groups").items()) out.push_back(score_cells(name, score));
  out.push_back(score_cells("all", summary.at("all")));
  return out;
}
Shown shown_of_tasks(const Json& summary) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& task : summary.at("tasks")) {
    rows.push_back(task_cells(task));
    rows.back().push_back(word(task, "reason"));
  }
  return shown_columns(rows);
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
    out += format("Times are the Planner's estimates for {}, not measurements. ",
                  with_article(word(summary["run"], "gpu")));
  if (!word(summary["run"], "known_baselines").empty())
    out +=
        format("Baselines marked known were measured earlier: {}. ", word(summary["run"], "known_baselines"));
  if (int left = summary.value("not_done", 0))
    out += format("{} still to do. ", left == 1 ? "1 task is" : format("{} tasks are", left));
  if (int kept = summary["run"].value("kept_from_earlier", 0))
    out += format("{} of the tasks {} not part of this run: kept from earlier runs in this folder. ", kept,
                  kept == 1 ? "was" : "were");
  if (int other = summary["run"].value("of_other_settings", 0))
    out += format("{} earlier result{} of another numerics class or device {} left out. ", other,
                  other == 1 ? "" : "s", other == 1 ? "is" : "are");
  const Json& all = summary.at("all");
  if (all.contains("speedup"))
    out +=
        "Speedups are over PyTorch's fastest baseline (best), or over the one named. fast_p: the share of "
        "tasks "
        "that pass and are more than p times as fast as the best baseline. ";
  if (all.contains("share_of_floor")) out += "% of limit: the theoretical limit over the program's time. ";
  if (all.contains("share_of_memory")) out += "Memory vs PyTorch: the program's peak memory over PyTorch's. ";
  return trim(out);
}

std::vector<HtmlCell> html_row(const std::vector<std::string>& cells, size_t texts) {
  std::vector<HtmlCell> out;
  for (size_t i = 0; i < cells.size(); ++i) out.push_back({cells[i], i < texts ? "text" : "n"});
  return out;
}

// What a column is sorted by; nothing: its text.
std::optional<double> sort_key(const Json& task, size_t column) {
  const bool passed = task.at("passed").get<bool>();
  const std::string best = word(task, "best_baseline");
  const char* source = task.value("best_baseline_known", false) ? "known_baselines" : "baselines";
  switch (column) {
    case 2: return passed ? task.value("seconds_a_call", 0.0) : 0;
    case 3: return best.empty() ? 0 : task.at(source).value(best, 0.0);
    case 5: return best.empty() ? 0 : task.at("speedups").value("best", 0.0);
    case 6: return task.value("share_of_floor", 0.0);
    case 7: return task.value("share_of_memory", 0.0);
    case 8: return task.value("seconds", 0.0);
    default: return std::nullopt;
  }
}

// For the filter: passed or failed, and on which side of the best PyTorch.
std::string results_of(const Json& task) {
  if (!task.at("passed").get<bool>()) return "failed";
  const double speedup = task.value("speedups", Json::object()).value("best", 0.0);
  return speedup <= 0 ? "passed" : speedup > 1 ? "passed faster" : "passed slower";
}

std::string options_html(const std::vector<std::pair<std::string, std::string>>& options) {
  std::string out;
  for (const auto& [value, text] : options)
    out += format("<option value=\"{}\">{}</option>", escaped(value), escaped(text));
  return out;
}

std::string task_bar(const Json& summary, const std::vector<std::string>& header) {
  std::vector<std::pair<std::string, std::string>> groups = {{"", "all"}},
                                                   columns = {{"-1", "order of running"}};
  for (const auto& [name, score] : summary.at("groups").items()) groups.emplace_back(name, name);
  for (size_t i = 0; i < header.size(); ++i) columns.emplace_back(std::to_string(i), header[i]);
  const bool timed = summary.at("all").contains("speedup");
  std::vector<std::pair<std::string, std::string>> results = {
      {"", "all"}, {"passed", "passed"}, {"failed", "failed"}};
  if (timed)
    results.insert(results.end(),
                   {{"faster", "faster than the best PyTorch"}, {"slower", "slower than the best PyTorch"}});
  return format(
      "<div class=\"bar\"><label>Filter<input id=\"filter\" type=\"search\" placeholder=\"words in any "
      "column\" "
      "autocomplete=\"off\" spellcheck=\"false\"></label>"
      "<label>Folder<select id=\"group\">{}</select></label>"
      "<label>Result<select id=\"result\">{}</select></label>"
      "<label>Sort by<select id=\"sort\">{}</select></label>"
      "<button id=\"direction\" type=\"button\">↑ ascending</button><span id=\"shown\"></span></div>\n",
      options_html(groups), options_html(results), options_html(columns));
}

// Like html_table, with what sorting and filtering need.
std::string task_table(const Json& summary, const std::vector<std::string>& header, const Shown& shown) {
  std::string out = "<div class=\"scroll\"><table id=\"tasks\"><thead><tr>";
  for (size_t i = 0; i < header.size(); ++i)
    if (shown[i])
      out += format("<th class=\"{}\"><button type=\"button\">{}</button></th>",
                    i > 1 && i != 4 && i < 9 ? "n" : "", escaped(header[i]));
  out += "</tr></thead><tbody>\n";
  for (const Json& task : summary.at("tasks")) {
    out +=
        format("<tr data-group=\"{}\" data-result=\"{}\">", escaped(word(task, "group")), results_of(task));
    std::vector<std::string> cells = task_cells(task);
    cells.push_back(word(task, "reason"));
    const std::string report = word(task, "report");
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!shown[i]) continue;
      const char* look = i == 0   ? "text"
                         : i == 1 ? (task["passed"].get<bool>() ? "good" : "bad")
                         : i == 9 ? "long"
                         : i == 4 ? ""
                                  : "n";
      const auto key = sort_key(task, i);
      const std::string sorted = !key ? "" : *key > 0 ? format(" data-v=\"{}\"", *key) : " data-v=\"\"";
      const std::string text = i == 0 && !report.empty()
                                   ? format("<a href=\"{}\">{}</a>", escaped(report), escaped(cells[i]))
                                   : escaped(cells[i]);
      out += format("<td class=\"{}\" data-column=\"{}\"{}>{}</td>", look, escaped(header[i]), sorted, text);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

// Programs that don't do the work themselves, in the order in which they are worse. Empty: all do.
constexpr const char* label_order[] = {"degenerate", "partial hack", "full hack", "inconclusive"};

std::string labels_text(const Json& score) {
  const Json labels = score.value("labels", Json::object());
  std::vector<std::string> parts;
  for (const char* label : label_order)
    if (labels.contains(label) && labels[label]["count"].get<int64_t>() > 0)
      parts.push_back(format("{} {} ({:.0f} %)", labels[label]["count"].dump(), label,
                             100 * labels[label]["rate"].get<double>()));
  return parts.empty() ? "" : "Not all programs do the work themselves: " + join(parts, ", ");
}

// Settings as rows: what is in an object has its name before its own.
void add_settings(const Json& settings, const std::string& before, std::vector<std::vector<HtmlCell>>& rows) {
  for (const auto& [key, value] : settings.items()) {
    std::string name = before + key;
    std::ranges::replace(name, '_', ' ');
    if (value.is_object()) {
      add_settings(value, name + ", ", rows);
      continue;
    }
    std::vector<std::string> words;
    auto text = [](const Json& one) {
      return one.is_boolean()  ? (one.get<bool>() ? "yes" : "no")
             : one.is_string() ? one.get<std::string>()
                               : line_text(one);
    };
    if (value.is_array())
      for (const Json& each : value) words.push_back(text(each));
    else if (!value.is_null())
      words.push_back(text(value));
    if (const std::string said = join(words, ", "); !said.empty())
      rows.push_back({{name, "text"}, {said, "long"}});
  }
}

}  // namespace

std::string bench_text(const Json& summary, const Terminal& terminal) {
  const Shown of_tasks = shown_of_tasks(summary);
  std::vector<Column> columns;
  for (const std::string& header : task_header()) columns.push_back({.header = header});
  columns[0].cut = Cut::start;
  columns[0].least = 24;
  columns[1].least = 8;
  for (size_t i : {2, 3, 5, 6, 7, 8}) columns[i].align = Column::Align::right;
  Table tasks(only(of_tasks, columns));
  for (const Json& task : summary.at("tasks")) {
    std::vector<Cell> row;
    for (std::string& cell : task_cells(task)) row.emplace_back(std::move(cell));
    row[1].style = task["passed"].get<bool>() ? Style::good : Style::bad;
    tasks.add_row(only(of_tasks, std::move(row)));
  }
  columns.clear();
  for (const std::string& header : score_header())
    columns.push_back({.header = header, .align = Column::Align::right});
  columns[0].align = Column::Align::left;
  for (size_t i = 7; i < columns.size(); ++i) columns[i].optional = static_cast<int>(i);
  const auto rows = score_rows(summary);
  const Shown of_scores = shown_columns(rows);
  Table scores(only(of_scores, columns));
  for (const std::vector<std::string>& cells : rows) {
    std::vector<Cell> row(cells.begin(), cells.end());
    scores.add_row(only(of_scores, std::move(row)));
  }
  const std::string labels = labels_text(summary.at("all"));
  return tasks.render(terminal) + '\n' + scores.render(terminal) + '\n' + labels +
         (labels.empty() ? "" : "\n") + join(wrapped(times_note(summary), terminal.width), "\n") + '\n';
}

std::string bench_page(const Json& summary) {
  const Json& run = summary.at("run");
  const Json& all = summary.at("all");
  std::vector<std::vector<HtmlCell>> scores, failures, furthest, settings;
  const auto rows = score_rows(summary);
  const Shown of_scores = shown_columns(rows), of_tasks = shown_of_tasks(summary);
  for (const std::vector<std::string>& cells : rows) scores.push_back(html_row(only(of_scores, cells), 1));
  for (const auto& [code, count] : summary.at("failures").items())
    failures.push_back({{code}, {count.dump(), "n"}});
  for (const Json& far : summary.at("furthest"))
    if (!bottleneck(far).empty())
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
  std::erase_if(facts, [](const auto& fact) { return fact.first == "–"; });
  add_settings(run, "", settings);
  std::vector<std::string> header = task_header();
  header.emplace_back("reason");
  std::string body = html_facts(facts) + format("<p class=\"note\">{}</p>", escaped(times_note(summary))) +
                     html_table(only(of_scores, score_header()), scores);
  if (const std::string labels = labels_text(all); !labels.empty())
    body += format("<p class=\"note\">{}</p>", escaped(labels));
  if (!failures.empty()) body += "<h2>Why tasks failed</h2>" + html_table({"failed gate", "tasks"}, failures);
  if (!furthest.empty())
    body += "<h2>Furthest from their theoretical limit</h2>" +
            html_table({"task", "% of limit", "kernels"}, furthest);
  body += "<h2>Tasks</h2>" + task_bar(summary, only(of_tasks, header)) +
          task_table(summary, header, of_tasks) + "<h2>Run settings</h2>" +
          html_table({"setting", "value"}, settings) + "<script>\n" + std::string(embedded_bench_js) +
          "</script>\n";
  return html_page("stitchcuda bench", body, embedded_bench_css);
}

}  // namespace stitch
