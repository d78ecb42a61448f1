// known-bottlenecks [FOLDER] [--device cuda|emulated] [--no-counters] [--counters-by TOOL] [--only NAME]
// [--out FILE.json]
// Builds and profiles each program of expected.json, and prints which bottleneck was named beside the one
// that is known. Exit code 0 if at least 18 of 20 are right (or all that ran, where fewer were asked for).
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "profile/collect.h"
#include "profile/regions.h"

namespace {

using namespace stitch;

struct Arguments {
  fs::path folder = fs::path(STITCH_SOURCE_DIR) / "src/profile/testdata/known_bottlenecks", out;
  std::string device = "auto", only, counters_by = "any";
  bool counters = true;
};

Result<Arguments> read(int count, char** words) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool takes_value =
        word == "--device" || word == "--only" || word == "--out" || word == "--counters-by";
    if (takes_value && i + 1 == count) return user_error("arguments", word + " needs a value");
    if (word == "--no-counters")
      out.counters = false;
    else if (word == "--device")
      out.device = words[++i];
    else if (word == "--only")
      out.only = words[++i];
    else if (word == "--counters-by")
      out.counters_by = words[++i];
    else if (word == "--out")
      out.out = words[++i];
    else if (word.starts_with('-'))
      return user_error("arguments", "unknown flag " + word,
                        "known-bottlenecks [FOLDER] [--device cuda|emulated] [--no-counters] [--counters-by "
                        "any|ncu|cupti] [--only NAME] [--out FILE.json]");
    else
      out.folder = word;
  }
  return out;
}

struct Answer {
  profile::Diagnoses diagnoses;
  profile::Collected collected;
};

Result<Answer> profile_one(const Arguments& arguments, const Json& row, runner::Device device,
                           const GpuSpec& gpu) {
  STITCH_TRY(const profile::CounterTool tool, profile::parse_counter_tool(arguments.counters_by));
  profile::CollectOptions options{.program = arguments.folder / word(row, "program"),
                                  .device = device,
                                  .gpu = gpu,
                                  .counters = arguments.counters,
                                  .counter_tool = tool};
  STITCH_TRY(profile::Collected collected, profile::collect(options));
  auto subjects =
      profile::subjects_of(collected.timeline, collected.manifest, collected.metrics, nullptr, gpu);
  // The work of the call is the longest kernel's, but for chains, where it is shared out.
  double total = 0;
  for (const profile::Subject& subject : subjects) total += subject.seconds;
  for (profile::Subject& subject : subjects) {
    const double part = total > 0 ? subject.seconds / total : 1.0 / static_cast<double>(subjects.size());
    subject.work = {.bytes = part * row.value("bytes", 0.0),
                    .flops = part * row.value("flops", 0.0),
                    .matrix_flops = part * row.value("matrix_flops", 0.0)};
  }
  return Answer{profile::diagnose(collected.timeline, subjects, gpu), std::move(collected)};
}

Result<int> check(const Arguments& arguments) {
  STITCH_TRY(std::string text, read_file(arguments.folder / "expected.json"));
  STITCH_TRY(Json expected, parse_json(text));
  STITCH_TRY(const runner::Device device, choose_device(arguments.device));
  STITCH_TRY(const GpuSpec gpu, choose_gpu(""));
  const Terminal terminal = terminal_of(1);
  Table table({{.header = "program"},
               {.header = "known"},
               {.header = "named"},
               {.header = ""},
               {.header = "by the rule"},
               {.header = "span", .align = Column::Align::right},
               {.header = "evidence", .least = 30, .optional = 1}});
  int right = 0, asked = 0;
  std::string missing;
  Json rows = Json::array();
  for (const Json& row : expected.at("programs")) {
    const std::string program = word(row, "program"), known = word(row, "bottleneck");
    if (!arguments.only.empty() && program.find(arguments.only) == std::string::npos) continue;
    ++asked;
    std::cerr << program << " …\n";
    auto answer = profile_one(arguments, row, device, gpu);
    Json out = {{"program", program}, {"known", known}};
    if (!answer) {
      table.add_row({program, known, "–", "", "", "", answer.error().message});
      out["error"] = answer.error().text();
      rows.push_back(std::move(out));
      continue;
    }
    const profile::Diagnosis& whole = answer->diagnoses.whole;
    const std::string named(name(whole.bottleneck));
    const bool same = named == known;
    right += same;
    if (!answer->collected.missing.empty()) missing = answer->collected.missing;
    const double span = static_cast<double>(profile::summarise(answer->collected.timeline).span_ns) * 1e-9;
    table.add_row({program, known, named, same ? Cell{"right", Style::good} : Cell{"wrong", Style::bad},
                   whole.rule, span > 0 ? seconds_text(span) : "–", profile::text(whole)});
    out["named"] = named;
    out["diagnosis"] = to_json(whole);
    out["kernels"] = Json::array();
    for (const auto& [kernel, metrics] : answer->collected.metrics)
      out["kernels"].push_back(to_json(metrics));
    out["summary"] = to_json(profile::summarise(answer->collected.timeline));
    rows.push_back(std::move(out));
  }
  std::cout << table.render(terminal) << '\n';
  if (!missing.empty()) std::cout << "counters: " << missing << '\n';
  std::cout << format("{} of {} right (the bar is 18 of 20), {}\n", right, asked,
                      device == runner::Device::cuda ? gpu.name : "on the emulated GPU, which has no times");
  if (!arguments.out.empty()) {
    const Json document = {{"right", right}, {"asked", asked}, {"counters", missing}, {"programs", rows}};
    STITCH_CHECK(
        write_file(arguments.out, document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"));
  }
  return asked > 0 && right * 20 >= asked * 18 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  auto arguments = read(count, words);
  auto code = arguments ? check(*arguments) : Result<int>(std::move(arguments).error());
  if (code) return *code;
  std::cerr << code.error().text() << '\n';
  return code.error().blame == stitch::Error::Blame::user ? 2 : 1;
}
