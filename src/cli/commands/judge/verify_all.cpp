#include "cli/commands/judge/verify.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/machine/interrupt.h"
#include "base/machine/machine_memory.h"
#include "base/machine/parallel.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/flags/model_options.h"
#include "cli/output_place.h"
#include "cli/pages/page.h"
#include "code/limits.h"
#include "rubric/evidence.h"
#include "verify/clock/clock.h"
#include "verify/many/judge_all.h"
#include "verify/many/score.h"
#include "verify/not_judged.h"

namespace stitch {

namespace {

// Beside where the user is, never among the candidates.
fs::path results_folder(const VerifyCommand& command) {
  if (!command.out.empty()) return command.out;
  const fs::path given = fs::absolute(command.all).lexically_normal();
  const fs::path name = given.has_filename() ? given.stem() : given.parent_path().filename();
  return name.string() + "-results";
}

Result<void> check_flags(const VerifyCommand& command) {
  auto alone = [](const char* flag) {
    return user_error("flags", format("{} is for a single program, not for --all", flag),
                      format("leave {} out", flag));
  };
  if (!command.receipt.empty()) return alone("--receipt");
  if (!command.seed.empty()) return alone("--seed");
  return {};
}

// A folder of results goes on; anything else with something in it takes --force.
Result<void> check_results_folder(const fs::path& out, Overwrite overwrite) {
  std::error_code ec;
  if (!fs::exists(out / "results.jsonl", ec)) return OutputFolder::check(out, overwrite);
  return check_free_space(out, int64_t{64} << 20);
}

std::string why_not_judged(const verifier::ListedCandidate& candidate, const Json& record) {
  std::string out = format("{} for {}, sample {}: {}", candidate.author, candidate.task, candidate.sample,
                           word(record, "judgement"));
  if (const std::string reason = word(record, "reason"); !reason.empty()) out += format(" ({})", reason);
  return printable(out);
}

Json about(const VerifyCommand& command, const verifier::VerifyOptions& options,
           const verifier::ManyJudged& judged, size_t candidates, double seconds) {
  return {{"version", STITCH_VERSION},
          {"date", verifier::utc_now()},
          {"candidates_in", command.all},
          {"numerics", command.numerics},
          {"mode", name(command.mode)},
          {"device", options.device == runner::Device::cuda ? "cuda" : "emulated"},
          {"timed", options.timing && options.device == runner::Device::cuda},
          {"baselines", options.baselines},
          {"candidates", candidates},
          {"from_earlier_runs", judged.earlier},
          {"copies", judged.copies},
          {"not_reached", candidates - judged.records.size()},
          {"stopped", judged.stopped},
          {"seconds", seconds}};
}

}  // namespace

Result<int> run_verify_all(const VerifyCommand& command, Console& console) {
  STITCH_CHECK(check_flags(command));
  verifier::ManyOptions options;
  STITCH_TRY(options.verify, verify_options(command));
  STITCH_TRY(std::vector<verifier::ListedCandidate> candidates,
             verifier::find_candidates(command.all, command.tasks));
  STITCH_TRY(const GpuSpec gpu, choose_gpu(""));
  options.task = {.model_class = command.model_class,
                  .mode = command.mode,
                  .python = command.python,
                  .algebra = command.compatible.empty(),
                  .limits = code::limits_on(gpu)};
  options.out = results_folder(command);
  options.tool = STITCH_VERSION;
  options.describe = [gpu](const fs::path& program, const verifier::Verdict& verdict, const Graph& graph) {
    return honesty_of(program, verdict, rubric::operators_of(graph, gpu));
  };
  options.jobs = command.jobs > 0 ? command.jobs : core_count();
  STITCH_CHECK(check_results_folder(options.out, overwrite_if(command.force)));
  StopPolitely polite;
  options.should_stop = stop_requested;
  Warnings warnings(console);
  const auto begin = std::chrono::steady_clock::now();
  Result<verifier::ManyJudged> judged = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "verifying", std::ssize(candidates));
    options.verify.on_warning = warnings.above(progress);
    options.on_doing = [&](std::string_view text) { progress.detail(printable(text)); };
    options.on_earlier = [&](size_t verdicts) {
      progress.advance(static_cast<int64_t>(verdicts));
      progress.say(format("{} of {} are already judged.", verdicts, candidates.size()));
    };
    options.on_done = [&](const verifier::ListedCandidate& candidate, const Json& record) {
      progress.advance();
      if (word(record, "judgement") == verifier::not_judged) progress.say(why_not_judged(candidate, record));
    };
    judged = judge_all(candidates, options);
  }
  if (!judged) return std::move(judged).error();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json summary = verifier::summarise(judged->records);
  summary["run"] = about(command, options.verify, *judged, candidates.size(), seconds);
  summary["results"] = options.out.string();
  warnings.add_to(summary);
  summary["notes"] = notes_on_judged(summary);
  STITCH_CHECK(write_file(options.out / "summary.json", document_text(summary)));
  STITCH_CHECK(write_file(options.out / "index.html", page(View::verify_all, summary)));
  if (console.json)
    console.out << document_text(summary);
  else
    console.out << verify_all_text(summary, console.out_terminal)
                << format("{}: index.html, summary.json, results.jsonl, verdicts/\n", options.out.string());
  if (judged->records.size() < candidates.size()) return 1;
  return summary["all"]["not judged"] > 0 ? verifier::exit_not_judged : 0;
}

}  // namespace stitch
