#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/commands/judge/verify.h"

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
      out += format("Hacks of {}: {}\n", printable(word(row, "author")), counted(row["hacks"]));
  }
  if (const Json& why = summary["all"]["not_judged_for"]; !why.empty())
    out += format("Not judged because of errors on this machine: {}\n", printable(counted(why)));
  return out + join(notes_on_judged(summary), " ") + '\n';
}

}  // namespace stitch
