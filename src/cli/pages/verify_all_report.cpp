#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/pages/html.h"
#include "cli/commands/judge/verify_all.h"

namespace stitch {

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

std::string counted(const Json& table) {
  std::vector<std::string> parts;
  for (const auto& [label, count] : table.items()) parts.push_back(format("{} ({})", label, count.dump()));
  return join(parts, ", ");
}

std::string notes_on(const Json& summary) {
  const Json& run = summary.at("run");
  std::string out =
      "pass@k: the chance that one of k samples passes every gate, estimated without bias from all samples, "
      "mean over tasks. fast_p: the share of samples that pass and are more than p times as fast as "
      "PyTorch's best baseline, mean over tasks. Candidates that were not judged, for a fault of this "
      "machine, count in no share; the next run judges them again.";
  if (!run["timed"].get<bool>()) out += " Nothing was timed, so fast_p has no meaning.";
  if (const auto left = run["not_reached"].get<int64_t>(); left > 0)
    out += format(" {} candidates are still to do: run the same command again.", left);
  return out;
}

std::string result_of(const Json& record) {
  const std::string judgement = word(record, "judgement");
  return judgement == "failed" ? word(record, "kind") : judgement;
}

std::string_view look_of(const Json& record) {
  const std::string judgement = word(record, "judgement");
  return judgement == "passed" ? "good" : judgement == "failed" ? "bad" : "warning";
}

std::vector<HtmlCell> task_cells_of(const Json& row) {
  std::vector<HtmlCell> out = {{word(row, "task"), "text"},
                               {format("{}/{}", row["passed"].dump(), row["candidates"].dump()), "n"}};
  for (const char* kind : failure_kinds) out.push_back({row[kind].dump(), "n"});
  out.push_back({row.contains("best_seconds") ? seconds_text(row["best_seconds"].get<double>()) : "–", "n"});
  out.push_back({times_cell(row, "best_speedup"), "n"});
  out.push_back({word(row, "best_author"), "text"});
  return out;
}

std::vector<HtmlCell> candidate_cells(const Json& record) {
  const Json speedups = record.value("speedups", Json::object());
  return {
      {word(record, "task"), "text"},
      {word(record, "author"), "text"},
      {word(record, "sample"), "text"},
      {result_of(record), look_of(record), word(record, "verdict")},
      {word(record, "gate"), "text"},
      {record.contains("seconds_a_call") ? seconds_text(record["seconds_a_call"].get<double>()) : "–", "n"},
      {times_cell(speedups, "best"), "n"},
      {word(record, "reason"), "long"}};
}

}  // namespace

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
      out += format("Hacks of {}: {}\n", printable(word(row, "author")), counted(row["hacks"]));
  }
  if (const Json& why = summary["all"]["not_judged_for"]; !why.empty())
    out += format("Not judged because of errors on this machine: {}\n", printable(counted(why)));
  return out + notes_on(summary) + '\n';
}

std::string verify_all_page(const Json& summary) {
  const Json &all = summary.at("all"), &run = summary.at("run");
  const AuthorTable layout = author_table_of(summary);
  std::vector<std::vector<HtmlCell>> authors, hacks, tasks, candidates;
  for (const Json& row : summary.at("authors")) {
    std::vector<HtmlCell> cells;
    for (std::string& cell : author_cells(row, layout))
      cells.push_back({std::move(cell), cells.empty() ? "text" : "n"});
    authors.push_back(std::move(cells));
    for (const auto& [label, count] : row["hacks"].items())
      hacks.push_back({{word(row, "author"), "text"}, {label, "text"}, {count.dump(), "n"}});
  }
  for (const Json& row : summary.at("tasks")) tasks.push_back(task_cells_of(row));
  for (const Json& record : summary.at("candidates")) candidates.push_back(candidate_cells(record));
  std::string body = html_facts({{format("{}/{}", all["passed"].dump(), all["candidates"].dump()), "passed"},
                                 {std::to_string(summary["authors"].size()), "authors"},
                                 {std::to_string(summary["tasks"].size()), "tasks"},
                                 {all["hack"].dump(), "hacks"},
                                 {all["not judged"].dump(), "not judged"},
                                 {word(run, "numerics"), "numerics class"},
                                 {word(run, "version"), "stitchcuda, " + word(run, "date")}}) +
                     format("<p class=\"note\">{}</p>", escaped(notes_on(summary))) + "<h2>Authors</h2>" +
                     html_table(author_header(layout), authors);
  if (!hacks.empty()) body += "<h2>Hacks</h2>" + html_table({"author", "hack", "candidates"}, hacks);
  std::vector<std::string> header = {"task", "passed"};
  for (const char* kind : failure_kinds) header.emplace_back(kind);
  header.insert(header.end(), {"best time", "speedup", "by"});
  body += "<h2>Tasks</h2>" + html_table(header, tasks) +
          "<h2>Candidates</h2><p class=\"note\">The result links to the whole verdict, with each gate's "
          "evidence.</p>" +
          html_table({"task", "author", "sample", "result", "gate", "per call", "speedup", "reason"},
                     candidates) +
          "<h2>Run settings</h2><pre class=\"mono\">" +
          escaped(run.dump(2, ' ', false, Json::error_handler_t::replace)) + "</pre>";
  return html_page("stitchcuda verify --all", body);
}

}  // namespace stitch
