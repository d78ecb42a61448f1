// stitchcuda calibrate: measured runs in, what techniques take on that GPU out.
#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/bench.h"
#include "base/file.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "plan/cost/cost_fit.h"

namespace stitch {

namespace {

struct CalibrateCommand {
  std::vector<std::string> runs;  // folders of bench, or files of their records
  std::string gpu;
  std::string out;
  bool force = false;
};

using plan::CostError;
using plan::CostSample;

Result<std::vector<CostSample>> read_samples(const CalibrateCommand& command) {
  std::vector<CostSample> out;
  for (const std::string& run : command.runs) {
    const fs::path file = fs::is_directory(run) ? fs::path(run) / "tasks.jsonl" : fs::path(run);
    if (!fs::exists(file))
      return user_error("not_found", format("no records in {}", printable(run)),
                        "name a folder that stitchcuda bench wrote, or its tasks.jsonl");
    for (const auto& [key, record] : agents::read_records(file)) {
      for (const Json& each : record->value("cost", Json::array())) {
        auto sample = plan::read_sample(each);
        if (!sample) return within(file.string(), std::move(sample).error());
        sample->task = word(*record, "task");
        out.push_back(*std::move(sample));
      }
    }
  }
  if (out.empty())
    return user_error("no_samples", "no measured regions in these runs",
                      "run stitchcuda bench on a GPU, without --no-timing");
  return out;
}

std::string today() {
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day date(day);
  return format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()));
}

std::string error_text(const CostError& error) {
  return format("{:.2f}x, {:.0f} %", error.median, 100 * error.within_double);
}

Json error_json(const CostError& error) {
  return {{"samples", error.samples}, {"median_ratio", error.median}, {"within_2x", error.within_double}};
}

Result<int> run_calibrate(const CalibrateCommand& command, Console& console) {
  STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
  const fs::path out = command.out.empty() ? calibration_file(gpu.name) : fs::path(command.out);
  // Its own place in the cache is ours: a new one takes the old one's place there.
  const Overwrite overwrite = overwrite_if(command.force || command.out.empty());
  std::error_code ignored;  // a folder that can't be made is found by the next line
  fs::create_directories(out.parent_path(), ignored);
  STITCH_CHECK(check_output_file(out, overwrite));
  STITCH_TRY(const std::vector<CostSample> samples, read_samples(command));
  std::set<std::string> tasks;
  std::map<std::string, std::vector<CostSample>> ways;
  for (const CostSample& each : samples) tasks.insert(each.task), ways[each.way].push_back(each);
  const Calibration calibration = plan::fit(
      samples, gpu.name, format("{}, {} regions of {} tasks", today(), samples.size(), tasks.size()));
  STITCH_CHECK(write_output_file(out, to_json(calibration).dump(2) + "\n", overwrite));
  const CostError before = plan::error_of(samples, nullptr), after = plan::error_of(samples, &calibration),
                  unseen = plan::error_on_unseen_tasks(samples);
  if (console.json) {
    console.out << Json{{"calibration", out.string()}, {"gpu", gpu.name},
                        {"tasks", tasks.size()},       {"before", error_json(before)},
                        {"after", error_json(after)},  {"on_unseen_tasks", error_json(unseen)}}
                       .dump(2)
                << '\n';
    return 0;
  }
  Table table({{.header = "technique", .least = 20},
               {.header = "regions", .align = Column::Align::right},
               {.header = "before", .align = Column::Align::right},
               {.header = "calibrated", .align = Column::Align::right},
               {.header = "memory", .align = Column::Align::right, .optional = 1},
               {.header = "compute", .align = Column::Align::right, .optional = 1},
               {.header = "on top", .align = Column::Align::right, .optional = 1}});
  for (const auto& [way, own] : ways) {
    auto found = calibration.techniques.find(way);
    const Calibrated* fitted = found == calibration.techniques.end() ? nullptr : &found->second;
    table.add_row({way, std::to_string(own.size()), error_text(plan::error_of(own, nullptr)),
                   fitted ? error_text(plan::error_of(own, &calibration)) : "too few",
                   fitted ? format("{:.2f}", fitted->memory) : "",
                   fitted ? format("{:.2f}", fitted->compute) : "",
                   fitted ? seconds_text(fitted->seconds) : ""});
  }
  console.out << table.render(console.out_terminal) << '\n'
              << format("All {} regions: {} before, {} calibrated, {} on tasks that a fit has not seen.\n",
                        samples.size(), error_text(before), error_text(after), error_text(unseen))
              << "Errors: the median of the larger over the smaller of predicted and measured, and the share "
                 "within 2x.\n"
              << format("Written to {}\n", printable(out.string()));
  return 0;
}

}  // namespace

Run add_calibrate(CLI::App& app) {
  const auto calibrate = std::make_shared<CalibrateCommand>();
  Flags flags(app, "calibrate", "Fit the cost model to a GPU from measured runs of bench");
  flags("RUNS", calibrate->runs, "folders that bench wrote on the GPU, or their tasks.jsonl").required();
  flags.gpu(calibrate->gpu, "the GPU they ran on");
  flags("-o,--out", calibrate->out, "FILE",
        "the file to write (default: where plan, optimize and bench look for it)");
  flags.force(calibrate->force);
  flags.json();
  flags.examples(
      "stitchcuda bench KernelBench/level1 -o runs/ && stitchcuda calibrate runs/\n"
      "stitchcuda calibrate runs/ --gpu H200 -o h200.json");
  return [calibrate](Console& console) { return run_calibrate(*calibrate, console); };
}

}  // namespace stitch
