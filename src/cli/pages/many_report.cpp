#include "cli/pages/many_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/commands/judge/verify.h"
#include "graph/numerics.h"

namespace stitch {

namespace {

std::string percent(const Json& score, const char* key) {
  return score.contains(key) ? format("{:.0f} %", 100 * score[key].get<double>()) : "–";
}

std::string speedup(const Json& score, const char* against, const char* kind) {
  const Json all = score.value("speedup", Json::object());
  return all.contains(against) ? format("{:.2f}x", all[against][kind].get<double>()) : "–";
}

// One line a group.
std::vector<std::string> score_header() {
  return {"",           "passed",           "fast_1",          "fast_1.5", "fast_2",
          "fast_3",     "mean vs best",     "geomean vs best", "vs eager", "vs eager-graph",
          "vs compile", "vs compile-graph", "% of limit",      "score",    "memory vs PyTorch"};
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
  out.push_back(score.contains("score") ? format("{:.2f}", score["score"]["mean"].get<double>()) : "–");
  out.push_back(score.contains("share_of_memory")
                    ? format("{:.0f} %", 100 * score["share_of_memory"]["geometric_mean"].get<double>())
                    : "–");
  return out;
}

std::vector<std::string> task_header() {
  return {"task",    "result",     "per call", "best baseline",     "which",
          "speedup", "% of limit", "score",    "memory vs PyTorch", "time taken"};
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
  out.push_back(task.contains("score")         ? format("{:.2f}", task["score"].get<double>())
                : task.contains("below_floor") ? "below limit"
                                               : "–");
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

// Programs that don't do the work themselves, in the order in which they are worse. Empty: all do.
constexpr const char* label_order[] = {"degenerate", "partial hack", "full hack", "inconclusive"};

std::string labels_text(const Json& score) {
  const Json labels = score.value("labels", Json::object());
  std::vector<std::string> parts;
  for (const char* label : label_order)
    if (labels.contains(label) && labels[label]["count"].get<int64_t>() > 0)
      parts.push_back(format("{} {} ({:.0f} %)", labels[label]["count"].dump(), label,
                             100 * labels[label]["rate"].get<double>()));
  return parts.empty() ? "" : "Not all programs do the work themselves: " + join(parts, ", ") + ".";
}

// An alarm.
std::string below_floor(const Json& tasks) {
  std::vector<std::string> names;
  for (const Json& task : tasks)
    if (task.contains("below_floor")) names.push_back(word(task, "task"));
  return format("Faster than the theoretical limit, so the limit or the clock is wrong: {}.",
                join(names, ", "));
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
  return each.empty() ? "" : "Cost model: " + join(each, "; ") + ".";
}

// What each model made faster, what became of its tries, and what all of them took.
std::vector<std::string> models_notes(const Json& summary) {
  std::vector<std::string> out;
  const Json models = summary.value("models", Json::object());
  for (const auto& [author, each] : models.items()) {
    std::vector<std::string> outcomes;
    for (const auto& [outcome, count] : each["outcomes"].items())
      outcomes.push_back(format("{} {}", count.get<int>(), outcome));
    out.push_back(
        format("{} made {} of {} faster, {:.3f}x by geometric mean over all of them; {} of its {} "
               "kept. Its tries: {}.",
               author, each["improved"].get<int>(), counted(each["tasks"].get<int>(), "task"),
               each["gain"].get<double>(), each["kept"].get<int>(), counted(each["steps"].get<int>(), "step"),
               join(outcomes, ", ")));
  }
  if (auto spent = summary.find("llm"); spent != summary.end()) {
    const int unpriced = (*spent)["unpriced"].get<int>();
    out.push_back(format("Language models took {}, {} tokens and ${:.2f}{}, in {}.",
                         counted((*spent)["requests"].get<int>(), "request"),
                         (*spent)["tokens"].get<int64_t>(), (*spent)["dollars"].get<double>(),
                         unpriced ? format(" ({} at an unknown price)", unpriced) : "",
                         seconds_text((*spent)["seconds"].get<double>())));
  }
  return out;
}

}  // namespace

std::vector<std::string> notes_on_bench(const Json& summary) {
  std::vector<std::string> out;
  auto say = [&](std::string text) {
    if (!text.empty()) out.push_back(std::move(text));
  };
  say(labels_text(summary.at("all")));
  say(model_note(summary));
  if (word(summary, "times") == "estimated")
    say(format("Times are the Planner's estimates for {}, not measurements.",
               with_article(word(summary["run"], "gpu"))));
  if (const std::string known = word(summary["run"], "known_baselines"); !known.empty())
    say(format("Baselines marked known were measured earlier: {}.", known));
  if (int left = summary.value("not_done", 0))
    say(format("{} still to do.", left == 1 ? "1 task is" : format("{} tasks are", left)));
  if (int kept = summary["run"].value("kept_from_earlier", 0))
    say(format("{} of the tasks {} not part of this run: kept from earlier runs in this folder.", kept,
               kept == 1 ? "was" : "were"));
  if (int other = summary["run"].value("of_other_settings", 0))
    say(format("{} of another numerics class or device {} left out.", counted(other, "earlier result"),
               other == 1 ? "is" : "are"));
  for (const std::string& line : models_notes(summary)) say(line);
  const Json& all = summary.at("all");
  if (const auto numerics = parse_numerics(word(summary["run"], "numerics"));
      numerics && *numerics != Numerics::standard)
    say(format("Class {}: baselines are {}.", name(*numerics), pytorch_in(*numerics)));
  if (all.contains("speedup"))
    say("Speedups are over PyTorch's fastest baseline (best), or over the one named. fast_p: the share of "
        "tasks that pass and are more than p times as fast as the best baseline.");
  if (all.contains("share_of_floor")) say("% of limit: the theoretical limit over the program's time.");
  if (all.contains("score"))
    say("Score: 1 / (1 + (time - limit) / (best baseline - limit)), 1 at the limit and 0.5 at the best "
        "baseline; what failed counts as 0.");
  if (int unscored = all.value("unscored", 0))
    say(format("{} without a score: no limit or baseline known, or none above the limit.",
               counted(unscored, "task")));
  if (all.contains("below_floor")) say(below_floor(summary.at("tasks")));
  if (all.contains("share_of_memory")) say("Memory vs PyTorch: the program's peak memory over PyTorch's.");
  return out;
}

std::string bench_text(const Json& summary, const Terminal& terminal) {
  const Shown of_tasks = shown_of_tasks(summary);
  std::vector<Column> columns;
  for (const std::string& header : task_header()) columns.push_back({.header = header});
  columns[0].cut = Cut::start;
  columns[0].least = 24;
  columns[1].least = 8;
  for (size_t i : {2, 3, 5, 6, 7, 8, 9}) columns[i].align = Column::Align::right;
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
  return tasks.render(terminal) + '\n' + scores.render(terminal) + '\n' +
         join(wrapped(join(notes_on_bench(summary), " "), terminal.width), "\n") + '\n';
}

namespace {

constexpr const char* failure_kinds[] = {"wrong", "build failed", "crashed",   "inconclusive",
                                         "hack",  "misbehaved",   "not judged"};

std::string share_cell(const Json& table, const char* key) {
  if (!table.contains(key)) return "–";
  const Json& value = table[key];
  return format("{:.1f} %", 100 * (value.is_object() ? value["rate"].get<double>() : value.get<double>()));
}

std::string times_cell(const Json& row, const char* key) {
  return row.contains(key) ? format("{:.2f}x", row[key].get<double>()) : "–";
}

struct AuthorTable {
  std::string k;  // the largest that there are samples for, besides 1; empty: none
  bool timed = false;
};

AuthorTable author_table_of(const Json& summary) {
  AuthorTable out{.timed = summary.at("run")["timed"].get<bool>()};
  for (const Json& author : summary.at("authors"))
    for (const auto& [k, rate] : author["pass_at"].items())
      if (k != "1" && (out.k.empty() || std::stoi(k) > std::stoi(out.k))) out.k = k;
  return out;
}

std::vector<std::string> author_header(const AuthorTable& layout) {
  std::vector<std::string> out = {"author", "tasks", "candidates", "passed", "pass@1"};
  if (!layout.k.empty()) out.push_back("pass@" + layout.k);
  if (layout.timed) out.insert(out.end(), {"fast_1", "fast_2", "median speedup"});
  for (const char* kind : failure_kinds) out.emplace_back(kind);
  return out;
}

std::vector<std::string> author_cells(const Json& row, const AuthorTable& layout) {
  std::vector<std::string> out = {
      printable(word(row, "author")), format("{}/{}", row["tasks"].dump(), row["all_tasks"].dump()),
      row["candidates"].dump(), row["passed"].dump(), share_cell(row["pass_at"], "1")};
  if (!layout.k.empty()) out.push_back(share_cell(row["pass_at"], layout.k.c_str()));
  if (layout.timed)
    out.insert(out.end(), {share_cell(row["fast_p"], "1"), share_cell(row["fast_p"], "2"),
                           times_cell(row, "median_speedup")});
  for (const char* kind : failure_kinds) out.push_back(row[kind].dump());
  return out;
}

std::string listed(const Json& table) {
  std::vector<std::string> parts;
  for (const auto& [label, count] : table.items()) parts.push_back(format("{} ({})", label, count.dump()));
  return join(parts, ", ");
}

}  // namespace

std::vector<std::string> notes_on_judged(const Json& summary) {
  const Json& run = summary.at("run");
  std::vector<std::string> out = {
      "pass@k: the chance that one of k samples passes every gate, estimated without bias from all samples, "
      "mean over tasks.",
      "fast_p: the share of samples that pass and are more than p times as fast as PyTorch's best baseline, "
      "mean over tasks.",
      "Candidates that were not judged, for a fault of this machine, count in no share; the next run judges "
      "them again."};
  if (!run["timed"].get<bool>()) out[1] = "Nothing was timed.";
  if (const auto left = run["not_reached"].get<int64_t>(); left > 0)
    out.push_back(format("{} candidates are still to do: run the same command again.", left));
  return out;
}

std::string verify_all_text(const Json& summary, const Terminal& terminal) {
  const AuthorTable layout = author_table_of(summary);
  std::vector<Column> columns;
  for (const std::string& header : author_header(layout))
    columns.push_back({.header = header, .align = Column::Align::right});
  columns[0].align = Column::Align::left;
  columns[0].least = 12;
  for (size_t i = columns.size() - 5; i + 1 < columns.size(); ++i) columns[i].optional = static_cast<int>(i);
  Table authors(columns);
  for (const Json& row : summary.at("authors")) {
    std::vector<Cell> cells;
    for (std::string& cell : author_cells(row, layout)) cells.emplace_back(std::move(cell));
    if (row["not judged"] > 0) cells.back().style = Style::warning;
    authors.add_row(std::move(cells));
  }
  std::string out = authors.render(terminal) + '\n';
  for (const Json& row : summary.at("authors")) {
    if (row.contains("honesty")) {
      std::vector<std::string> parts;
      for (const auto& [label, one] : row["honesty"].items())
        parts.push_back(
            format("{} {} ({:.0f} %)", one["count"].dump(), label, 100 * one["rate"].get<double>()));
      out += format("Labels of {}: {}\n", printable(word(row, "author")), join(parts, ", "));
    }
    if (!row["hacks"].empty())
      out += format("Hacks of {}: {}\n", printable(word(row, "author")), listed(row["hacks"]));
  }
  if (const Json& why = summary["all"]["not_judged_for"]; !why.empty())
    out += format("Not judged because of errors on this machine: {}\n", printable(listed(why)));
  return out + join(notes_on_judged(summary), " ") + '\n';
}

}  // namespace stitch
