#include "agents/loop/ledger.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/table.h"
#include "base/text.h"

namespace stitch::agents {

std::string reason(const LedgerEntry& entry) {
  if (entry.kept()) return "";
  if (entry.report) {
    const std::string found = entry.report->gate + ": " + entry.report->summary;
    return entry.note.empty() ? found : found + "; " + entry.note;
  }
  if (!entry.note.empty()) return entry.note;
  if (entry.no_verdict) return entry.no_verdict->message;
  return entry.outcome == Outcome::not_better ? "not faster" : std::string(name(entry.outcome));
}

std::string settings_text(const std::map<std::string, int64_t>& settings) {
  std::vector<std::string> each;
  for (const auto& [name, value] : settings) each.push_back(format("{} = {}", name, value));
  return join(each, ", ");
}

std::vector<std::string> cut_off(const Ledger& ledger) {
  std::vector<std::string> out;
  for (const LedgerEntry& entry : ledger.entries)
    if (entry.outcome == Outcome::not_tried) out.push_back(entry.step);
  return out;
}

namespace {

bool was_tried(const LedgerEntry& entry) {
  return entry.outcome != Outcome::not_tried && entry.outcome != Outcome::left_out;
}

}  // namespace

Json to_json(const LedgerEntry& entry) {
  Json one = {{"step", entry.step},
              {"why", entry.why},
              {"predicted_gain_seconds", entry.predicted_gain},
              {"before_seconds", entry.before},
              {"after_seconds", entry.after},
              {"kept", entry.kept()},
              {"outcome", name(entry.outcome)},
              {"tries", entry.tries},
              {"seconds", entry.seconds}};
  if (std::string why = reason(entry); !why.empty()) one["reason"] = why;
  if (!was_tried(entry)) one["fate"] = name(entry.outcome);
  if (entry.report) {
    one["gate"] = {{"gate", entry.report->gate},
                   {"fault", name(entry.report->fault)},
                   {"code", entry.report->code},
                   {"summary", entry.report->summary}};
    if (entry.report->evidence && !entry.report->evidence->empty())
      one["gate"]["evidence"] = *entry.report->evidence;
  }
  if (!entry.settings.empty()) one["settings"] = entry.settings;
  if (!entry.bottleneck.empty()) one["bottleneck"] = entry.bottleneck;
  // A step with one try by the built-in techniques is told by the above.
  if (entry.tree.size() > 1 || (!entry.tree.empty() && !entry.tree[0].author.empty()))
    for (const LedgerTry& each : entry.tree)
      one["tree"].push_back({{"outcome", name(each.outcome)},
                             {"seconds", each.seconds},
                             {"base", each.base},
                             {"author", each.author},
                             {"why", each.why}});
  return one;
}

Json to_json(const Ledger& ledger) {
  Json json = {{"times", ledger.measured ? "measured" : "estimated"}, {"steps", Json::array()}};
  if (ledger.pytorch.known()) json["pytorch_estimated_seconds"] = to_json(ledger.pytorch);
  for (const LedgerEntry& entry : ledger.entries) json["steps"].push_back(to_json(entry));
  return json;
}

std::string table(const Ledger& ledger, const Terminal& terminal) {
  const char* kind = ledger.measured ? "measured" : "estimated";
  // Only a GPU's profile knows what a program is bound by.
  const bool bound =
      std::ranges::any_of(ledger.entries, [](const auto& each) { return !each.bottleneck.empty(); });
  Table rows({{.header = "step"},
              {.header = format("{} a call", kind), .align = Column::Align::right},
              {.header = "gain", .align = Column::Align::right},
              {.header = ledger.measured ? "predicted" : "", .align = Column::Align::right},
              {.header = bound ? "bound by" : ""},
              {.header = ""},
              {.header = "", .least = 24, .wrap = true}});
  for (const LedgerEntry& entry : ledger.entries)
    rows.add_row(
        {entry.step,
         entry.after > 0 ? seconds_text(entry.after) : "–",
         entry.before > 0 && entry.after > 0 && entry.before != entry.after
             ? format("{:.2f}x", entry.before / entry.after)
             : "",
         // An estimated gain is its own prediction.
         ledger.measured ? gain_text(entry.predicted_gain, entry.before) : "",
         entry.bottleneck,
         {entry.kept()                                             ? "kept"
          : was_tried(entry) && entry.outcome != Outcome::declined ? "rolled back"
                                                                   : std::string(name(entry.outcome)),
          entry.kept() ? Style::good : Style::warning},
         {!entry.kept()            ? reason(entry)
          : entry.settings.empty() ? entry.why
                                   : settings_text(entry.settings),
          Style::dim}});
  return rows.render(terminal);
}

}  // namespace stitch::agents
