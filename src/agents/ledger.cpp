#include "agents/ledger.h"

#include <nlohmann/json.hpp>

#include "base/table.h"
#include "base/text.h"

namespace stitch::agents {

std::string settings_text(const std::map<std::string, int64_t>& settings) {
  std::vector<std::string> each;
  for (const auto& [name, value] : settings) each.push_back(format("{} = {}", name, value));
  return join(each, ", ");
}

namespace {

std::string_view name(Fate fate) {
  switch (fate) {
    case Fate::tried: return "tried";
    case Fate::left_out: return "left out";
    case Fate::cut_off: return "not tried";
  }
  throw Bug("a fate without a name");
}

}  // namespace

std::vector<std::string> cut_off(const Ledger& ledger) {
  std::vector<std::string> out;
  for (const LedgerEntry& entry : ledger.entries)
    if (entry.fate == Fate::cut_off) out.push_back(entry.step);
  return out;
}

Json to_json(const Ledger& ledger) {
  Json json = {{"times", ledger.measured ? "measured" : "estimated"}, {"steps", Json::array()}};
  for (const LedgerEntry& entry : ledger.entries) {
    Json one = {{"step", entry.step},
                {"why", entry.why},
                {"predicted_gain_seconds", entry.predicted_gain},
                {"before_seconds", entry.before},
                {"after_seconds", entry.after},
                {"kept", entry.kept},
                {"seconds", entry.seconds}};
    if (!entry.reason.empty()) one["reason"] = entry.reason;
    if (entry.fate != Fate::tried) one["fate"] = name(entry.fate);
    if (!entry.settings.empty()) one["settings"] = entry.settings;
    json["steps"].push_back(std::move(one));
  }
  return json;
}

std::string table(const Ledger& ledger, const Terminal& terminal) {
  const char* kind = ledger.measured ? "measured" : "estimated";
  Table rows({{.header = "step"},
              {.header = format("{} a call", kind), .align = Column::Align::right},
              {.header = "gain", .align = Column::Align::right},
              {.header = "predicted", .align = Column::Align::right},
              {.header = ""},
              {.header = "", .least = 20, .optional = 1}});
  for (const LedgerEntry& entry : ledger.entries)
    rows.add_row({entry.step,
                  entry.after > 0 ? seconds_text(entry.after) : "–",
                  entry.before > 0 && entry.after > 0 ? format("{:.2f}x", entry.before / entry.after) : "",
                  entry.predicted_gain != 0 ? seconds_text(entry.predicted_gain) : "",
                  {entry.kept                  ? "kept"
                   : entry.fate == Fate::tried ? "rolled back"
                                               : std::string(name(entry.fate)),
                   entry.kept ? Style::good : Style::warning},
                  {!entry.kept              ? entry.reason
                   : entry.settings.empty() ? entry.why
                                            : settings_text(entry.settings),
                   Style::dim}});
  return rows.render(terminal);
}

}  // namespace stitch::agents
