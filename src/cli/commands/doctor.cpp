#include "cli/commands/doctor.h"
#include "cli/commands/commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/table.h"

namespace stitch {

namespace {

std::string_view name(Check::State state) {
  constexpr std::string_view names[] = {"there", "missing", "needed"};
  return names[static_cast<size_t>(state)];
}

Cell symbol(Check::State state, bool utf8) {
  switch (state) {
    case Check::State::there: return {utf8 ? "✓" : "+", Style::good};
    case Check::State::missing: return {utf8 ? "–" : "-", Style::warning};
    case Check::State::needed: return {utf8 ? "✗" : "x", Style::bad};
  }
  throw Bug("a state without a symbol");
}

bool found_a_gpu(const std::vector<Check>& checks) {
  return std::ranges::any_of(
      checks, [](const Check& check) { return check.name == "GPU" && check.state == Check::State::there; });
}

std::string verdict(const std::vector<Check>& checks) {
  if (doctor_exit_code(checks)) return "Something that is needed is missing (✗ above).";
  if (found_a_gpu(checks)) return "Ready: programs are built for and measured on the GPU.";
  return "Ready, without a GPU: programs run on the emulated device, times are estimates.";
}

}  // namespace

std::string doctor_text(const std::vector<Check>& checks, const Terminal& terminal) {
  size_t widest = 0;
  for (const Check& check : checks) widest = std::max(widest, check.name.size());
  std::string out, group;
  for (const Check& check : checks) {
    if (check.group != group) {
      out += (out.empty() ? "" : "\n") + styled(check.group, Style::bold, terminal) + "\n";
      group = check.group;
    }
    // One line for what is there or what its absence costs, one for the fix.
    Table table({{}, {}, {.least = 20, .wrap = true}});
    std::string name = check.name + std::string(widest - check.name.size(), ' ');
    bool there = check.state == Check::State::there;
    std::string text = there                 ? check.found
                       : check.found.empty() ? check.cost
                                             : check.found + ": " + check.cost;
    table.add_row({symbol(check.state, terminal.utf8), name, there ? Cell(text, Style::dim) : Cell(text)});
    if (!check.fix.empty()) table.add_row({"", "", Cell("fix: " + check.fix, Style::dim)});
    out += table.render(terminal, 2);
  }
  std::string last = verdict(checks);
  if (!terminal.utf8)
    if (size_t at = last.find("✗"); at != std::string::npos) last.replace(at, std::string("✗").size(), "x");
  return out + "\n" + last + "\n";
}

Json doctor_json(const std::vector<Check>& checks) {
  Json list = Json::array();
  for (const Check& check : checks) {
    Json entry = {{"group", check.group}, {"name", check.name}, {"state", name(check.state)}};
    if (!check.found.empty()) entry["found"] = check.found;
    if (!check.cost.empty()) entry["cost"] = check.cost;
    if (!check.fix.empty()) entry["fix"] = check.fix;
    list.push_back(std::move(entry));
  }
  return {{"ready", doctor_exit_code(checks) == 0},
          {"device", found_a_gpu(checks) ? "cuda" : "emulated"},
          {"checks", std::move(list)}};
}

int doctor_exit_code(const std::vector<Check>& checks) {
  return std::ranges::any_of(checks, [](const Check& check) { return check.state == Check::State::needed; });
}

Result<int> run_doctor(Console& console) {
  std::vector<Check> checks = examine_machine();
  if (console.json)
    console.out << document_text(doctor_json(checks));
  else
    console.out << doctor_text(checks, console.out_terminal);
  return doctor_exit_code(checks);
}

Run add_doctor(CLI::App& app) {
  Flags flags(app, "doctor", "Show what this machine has and what is missing");
  flags.json();
  flags.examples(
      "stitchcuda doctor\n"
      "stitchcuda doctor --json");
  return [](Console& console) { return run_doctor(console); };
}

}  // namespace stitch
