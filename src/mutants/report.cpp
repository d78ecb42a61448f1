#include "mutants/report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"

namespace stitch::mutants {

namespace {

void add(Counts& counts, std::string_view fate) {
  switch (fate_named(fate).value_or(Fate::not_judged)) {
    case Fate::killed: ++counts.killed; break;
    case Fate::survived: ++counts.survived; break;
    case Fate::same_results: ++counts.same_results; break;
    case Fate::equivalent: ++counts.equivalent; break;
    case Fate::not_compiled: ++counts.not_compiled; break;
    case Fate::not_judged: ++counts.not_judged; break;
  }
}

std::map<std::string, Counts> counts_by(const std::vector<Json>& records, const char* key) {
  std::map<std::string, Counts> out;
  for (const Json& record : records) add(out[word(record, key)], word(record, "fate"));
  return out;
}

std::string gate_of(const Json& record) { return word(record, "gate") + ": " + word(record, "code"); }

std::string percent(double share) { return format("{:.1f} %", 100 * share); }

Json to_json(const Counts& counts) {
  return {{"killed", counts.killed},
          {"survived", counts.survived},
          {"same_results", counts.same_results},
          {"equivalent", counts.equivalent},
          {"not_compiled", counts.not_compiled},
          {"not_judged", counts.not_judged},
          {"share_killed", counts.share_killed()}};
}

void add_row(Table& table, const std::string& title, const Counts& counts) {
  table.add_row({title, format("{}", counts.counted()), format("{}", counts.killed),
                 counts.counted() ? percent(counts.share_killed()) : "", format("{}", counts.survived),
                 format("{}", counts.same_results), format("{}", counts.equivalent),
                 format("{}", counts.not_compiled)});
}

std::string table_by(const std::vector<Json>& records, const char* key, const Terminal& terminal) {
  constexpr auto right = Column::Align::right;
  Table table({{key},
               {"mutants", right},
               {"killed", right},
               {"share", right},
               {"survived", right},
               {"same results", right},
               {"equal code", right},
               {"not compiled", right}});
  const auto by = counts_by(records, key);
  if (std::string_view(key) == "kind") {
    for (Kind kind : all_kinds)
      if (auto found = by.find(std::string(name(kind))); found != by.end())
        add_row(table, found->first, found->second);
  } else {
    for (const auto& [title, counts] : by) add_row(table, title, counts);
  }
  table.add_rule();
  add_row(table, "all", count(records));
  return table.render(terminal);
}

std::map<std::string, std::map<std::string, size_t>> kills_by_gate(const std::vector<Json>& records) {
  std::map<std::string, std::map<std::string, size_t>> out;
  for (const Json& record : records)
    if (word(record, "fate") == name(Fate::killed)) ++out[gate_of(record)][word(record, "kind")];
  return out;
}

std::string gates_table(const std::vector<Json>& records, const Terminal& terminal) {
  const auto gates = kills_by_gate(records);
  size_t killed = 0;
  std::vector<std::pair<std::string, size_t>> order;
  for (const auto& [gate, kinds] : gates) {
    size_t sum = 0;
    for (const auto& [kind, kills] : kinds) sum += kills;
    order.emplace_back(gate, sum);
    killed += sum;
  }
  std::ranges::stable_sort(order, std::greater{}, [](const auto& each) { return each.second; });
  Table table({{"killed by"},
               {"mutants", Column::Align::right},
               {"share", Column::Align::right},
               {.header = "kinds", .wrap = true}});
  for (const auto& [gate, sum] : order) {
    std::vector<std::string> kinds;
    for (Kind kind : all_kinds)
      if (auto found = gates.at(gate).find(std::string(name(kind))); found != gates.at(gate).end())
        kinds.push_back(format("{} {}", found->first, found->second));
    table.add_row({gate, format("{}", sum), percent(static_cast<double>(sum) / static_cast<double>(killed)),
                   join(kinds, ", ")});
  }
  return table.render(terminal);
}

bool lives(const Json& record) {
  return word(record, "fate") == name(Fate::survived) || word(record, "fate") == name(Fate::same_results);
}

}  // namespace

double Counts::share_killed() const {
  return counted() ? static_cast<double>(killed) / static_cast<double>(counted()) : 0;
}

Counts count(const std::vector<Json>& records) {
  Counts out;
  for (const Json& record : records) add(out, word(record, "fate"));
  return out;
}

std::string report_text(const Campaign& campaign, const Terminal& terminal) {
  const std::vector<Json>& records = campaign.records;
  std::string out = table_by(records, "kind", terminal) + "\n" + gates_table(records, terminal) + "\n" +
                    table_by(records, "program", terminal);
  for (const std::string& subject : campaign.left_out) out += "left out: " + printable(subject) + "\n";
  const size_t alive = static_cast<size_t>(std::ranges::count_if(records, lives));
  if (alive == 0) return out;
  out += "\nSurvivors\n";
  for (const Json& record : records) {
    if (!lives(record)) continue;
    out +=
        format("{} {}: {} {}:{} ({})\n  - {}\n  + {}\n", word(record, "mutant"), word(record, "kind"),
               printable(word(record, "program")), printable(word(record, "file")), record.value("line", 0),
               word(record, "fate"), printable(word(record, "before")), printable(word(record, "after")));
    if (record.contains("sanitizer")) out += "  sanitizer: " + printable(word(record, "sanitizer")) + "\n";
  }
  return out;
}

Json report_json(const Campaign& campaign) {
  Json out = {{"all", to_json(count(campaign.records))}, {"kinds", Json::object()}};
  for (const auto& [kind, counts] : counts_by(campaign.records, "kind")) out["kinds"][kind] = to_json(counts);
  for (const auto& [gate, kinds] : kills_by_gate(campaign.records)) out["gates"][gate] = kinds;
  for (const auto& [program, counts] : counts_by(campaign.records, "program"))
    out["programs"][program] = to_json(counts);
  out["left_out"] = campaign.left_out;
  out["survivors"] = Json::array();
  for (const Json& record : campaign.records)
    if (lives(record)) out["survivors"].push_back(record);
  out["earlier"] = campaign.earlier;
  out["stopped"] = campaign.stopped;
  return out;
}

}  // namespace stitch::mutants
