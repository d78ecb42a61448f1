#include "verify/verdict.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "reference/timing.h"
#include "runner/candidate.h"
#include "verify/adequacy/told_apart.h"

namespace stitch::verifier {

namespace {

Style style_of(Outcome outcome) {
  constexpr std::array styles = {Style::good, Style::bad, Style::dim};
  return styles[static_cast<size_t>(outcome)];
}

}  // namespace

std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, 3> names = {"passed", "failed", "skipped"};
  return names[static_cast<size_t>(outcome)];
}

std::string_view name(Fault fault) {
  constexpr std::array<std::string_view, 5> names = {"none", "not built", "wrong", "crashed", "misbehaved"};
  return names[static_cast<size_t>(fault)];
}

Fault fault_of(GateId gate, std::string_view code) {
  for (auto kind = runner::FailureKind::refused;; kind = runner::FailureKind(static_cast<int>(kind) + 1)) {
    if (code == runner::name(kind)) return Fault::crashed;
    if (kind == runner::FailureKind::broken_protocol) break;
  }
  if (gate <= GateId::load) return Fault::not_built;
  constexpr std::array<std::string_view, 4> wrong = {error_code::wrong, "wrong_when_timed",
                                                     error_code::region_wrong, "kernelbench"};
  const bool far_off = std::ranges::find(wrong, code) != wrong.end();
  return far_off || gate == GateId::correctness ? Fault::wrong : Fault::misbehaved;
}

const GateReport* Verdict::failure() const {
  auto found = std::ranges::find(gates, Outcome::failed, &GateReport::outcome);
  return found == gates.end() ? nullptr : &*found;
}

const GateReport* Verdict::gate(std::string_view wanted) const {
  auto found = std::ranges::find(gates, wanted, &GateReport::gate);
  return found == gates.end() ? nullptr : &*found;
}

bool Verdict::inconclusive() const { return failure() && failure()->code == inconclusive_code; }

bool Verdict::passed() const { return !gates.empty() && !failure(); }

std::string gates_text(const Verdict& verdict) {
  std::vector<std::string> not_run;
  for (const GateReport& gate : verdict.gates)
    if (gate.outcome == Outcome::skipped)
      not_run.push_back(gate.summary.empty() ? gate.gate : format("{} ({})", gate.gate, gate.summary));
  const auto passed = std::ranges::count(verdict.gates, Outcome::passed, &GateReport::outcome);
  if (not_run.empty()) return format("passed all {} gates", passed);
  return format("passed {} of {} gates; not run: {}", passed, verdict.gates.size(), join(not_run, ", "));
}

Json to_json(const Verdict& verdict) {
  Json json = {{"verdict", verdict.passed() ? "passed" : verdict.inconclusive() ? "inconclusive" : "failed"}};
  if (const GateReport* failure = verdict.failure())
    json.update(Json{{"gate", failure->gate}, {"code", failure->code}, {"reason", failure->summary}});
  if (verdict.header) json.update(*verdict.header);
  json["gates"] = Json::array();
  for (const GateReport& gate : verdict.gates) {
    Json one = {{"gate", gate.gate}, {"outcome", name(gate.outcome)}, {"summary", gate.summary}};
    if (!gate.code.empty()) one["code"] = gate.code;
    one["seconds"] = gate.seconds;
    if (gate.waited > 0.01) one["waited"] = gate.waited;
    if (gate.evidence && !gate.evidence->empty()) one["evidence"] = *gate.evidence;
    json["gates"].push_back(std::move(one));
  }
  json["notes"] = verdict.notes;
  if (verdict.adequacy) json["adequacy"] = *verdict.adequacy;
  if (verdict.timing) json["timing"] = *verdict.timing;
  if (verdict.sizes) json["sizes"] = *verdict.sizes;
  return json;
}

std::string table(const Verdict& verdict, const Terminal& terminal) {
  Table rows({{.header = "gate"},
              {.header = ""},
              {.header = "what was seen", .least = 30, .wrap = true},
              {.header = "time", .align = Column::Align::right, .optional = 1}});
  for (const GateReport& gate : verdict.gates) {
    if (gate.outcome == Outcome::skipped && gate.summary == not_reached) continue;
    rows.add_row({gate.gate,
                  {std::string(name(gate.outcome)), style_of(gate.outcome)},
                  printable(gate.summary),  // programs' own words are in it
                  {seconds_text(gate.seconds), Style::dim}});
  }
  std::string out = rows.render(terminal);
  for (const std::string& note : verdict.notes)
    out += "\n" + styled("note:", Style::warning, terminal) + ' ' + printable(note);
  if (!verdict.notes.empty()) out += '\n';
  if (verdict.adequacy && verdict.passed()) out += printable(adequacy_text(*verdict.adequacy)) + '\n';
  if (verdict.timing) out += '\n' + timing_table(*verdict.timing, terminal);
  const GateReport* failure = verdict.failure();
  out += '\n' + (failure ? (verdict.inconclusive() ? styled("inconclusive", Style::warning, terminal)
                                                   : styled("failed", Style::bad, terminal)) +
                               format(" at {}: {}", failure->gate, printable(failure->summary))
                         // The rows say why a gate was not run.
                         : styled(split(gates_text(verdict), ';').front(), Style::good, terminal));
  return out + '\n';
}

}  // namespace stitch::verifier
