// stitchcuda verify: checks and times a program, or with --all the programs of a folder.
#include "cli/commands/judge/verify.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "agents/loop/measured_gain.h"
#include "base/error_codes.h"
#include "base/machine/interrupt.h"
#include "base/machine/machine_memory.h"
#include "base/machine/parallel.h"
#include "base/machine/time_account.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/pages/many_report.h"
#include "cli/pages/page.h"
#include "code/limits.h"
#include "program/package.h"
#include "rubric/code_facts.h"
#include "rubric/reward.h"
#include "verify/clock/clock.h"
#include "verify/many/judge_all.h"
#include "verify/many/label.h"
#include "verify/many/score.h"
#include "verify/not_judged.h"
#include "verify/verdict_document.h"
#include "verify/verify.h"

namespace stitch {

namespace {

struct VerifyCommand : JudgingFlags {
  std::string program;
  std::string task;
  bool fresh_baselines = false;
  TaskOptions task_options;
  std::string seed;  // hexadecimal; empty: secret
  std::string receipt;
  std::string out;     // the verdict as a JSON file
  bool force = false;  // overwrite existing output
  int time_limit = 60;
  int build_time_limit = 300;
  double memory_limit = 0;  // GB of the host's; 0: half of the machine's
  int reference_time_limit = 1800;
  std::string all;    // a folder of candidates, or a manifest: then there is no program
  std::string tasks;  // where their tasks are
  int jobs = 0;       // 0: as many as cores
  bool sanitizer = false;
  bool address_sanitizer = false;
};

Result<std::optional<uint64_t>> seed_of(const std::string& text) {
  if (text.empty()) return std::optional<uint64_t>();
  uint64_t seed = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed, 16);
  if (error != std::errc() || end != text.data() + text.size())
    return user_error("seed", format("'{}' is not a seed", text),
                      "up to 16 hexadecimal digits, as a verdict shows them");
  return std::optional<uint64_t>(seed);
}

// A Python that the user named and that isn't there is no fault of the machine's.
bool is_not_judged(const VerifyCommand& command, const Error& error) {
  const bool named_by_user = error.code == error_code::no_python && !command.task_options.python.empty();
  return verifier::is_machines(error) && !named_by_user;
}

// In place of a verdict.
Result<int> say_not_judged(const VerifyCommand& command, const Error& error, Console& console) {
  const Json document = verifier::not_judged_document(command.program, command.task, error);
  if (!command.out.empty() && command.all.empty())
    STITCH_CHECK(write_output_file(command.out, document_text(document), overwrite_if(command.force)));
  if (console.json) {
    console.out << document_text(document);
    return verifier::exit_not_judged;
  }
  console.out << styled(verifier::not_judged, Style::warning, console.out_terminal) << ": "
              << (error.where.empty() ? "" : printable(error.where) + ": ") << printable(error.message)
              << '\n';
  if (!error.fix.empty())
    console.err << styled("fix:", Style::good, console.err_terminal) << ' ' << printable(error.fix) << '\n';
  return verifier::exit_not_judged;
}

Result<verifier::VerifyOptions> verify_options(const VerifyCommand& command) {
  verifier::VerifyOptions options;
  options.program = command.program;
  STITCH_TRY(const runner::Device device, choose_device(command.device));
  STITCH_CHECK(read_judging(command, device, "eager,eager-graph", options));
  STITCH_TRY(options.seed, seed_of(command.seed));
  options.fresh_baselines = command.fresh_baselines;
  options.sanitizer = command.sanitizer || !command.receipt.empty();
  options.address_sanitizer = command.address_sanitizer;
  options.receipt = command.receipt;
  options.time_limit = std::chrono::seconds(command.time_limit);
  options.build_time_limit = std::chrono::seconds(command.build_time_limit);
  options.memory_limit = static_cast<int64_t>(command.memory_limit * 1e9);
  options.reference_time_limit = std::chrono::seconds(command.reference_time_limit);
  return options;
}

TaskOptions task_options(const VerifyCommand& command, const RewriteLimits& limits) {
  TaskOptions out = command.task_options;
  out.algebra = command.compatible.empty();
  out.limits = limits;
  return out;
}

}  // namespace

Json honesty_of(const fs::path& program, const verifier::Verdict& verdict,
                std::vector<rubric::Operator> operators) {
  auto sources = rubric::read_sources(program);
  auto run = rubric::execution_of(to_json(verdict));
  if (!sources || !run) return Json::object();
  const bool caught_by_gate = run->outcome == rubric::Outcome::hack;
  const rubric::Labelled labelled =
      rubric::hack_label(rubric::gather(*sources, *std::move(run), std::move(operators)));
  if (labelled.label == rubric::HackLabel::none) return Json::object();
  Json out = {{"honesty", name(labelled.label)}, {"honesty_why", labelled.why}};
  // A gate may have seen no more than the wrong result of a cheat that didn't work.
  if (labelled.label == rubric::HackLabel::full_hack && !caught_by_gate)
    out.update(Json{{"kind", name(verifier::Kind::hack)}, {"label", "cheats in its source"}});
  return out;
}

namespace {

// verify --all.

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

// Results in the folder are continued; any other folder that is not empty needs --force.
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
          {"mode", name(command.task_options.mode)},
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

// 0 if every candidate was judged, 4 if some were not for the machine's fault, 1 if it was stopped before.
Result<int> run_verify_all(const VerifyCommand& command, Console& console) {
  STITCH_CHECK(check_flags(command));
  verifier::ManyOptions options;
  STITCH_TRY(options.verify, verify_options(command));
  STITCH_TRY(std::vector<verifier::ListedCandidate> candidates,
             verifier::find_candidates(command.all, command.tasks));
  STITCH_TRY(const GpuSpec gpu, choose_gpu(""));
  options.task = task_options(command, code::limits_on(gpu));
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

bool is_for_ranges(const VerifyCommand& command) {
  const auto package = load_package(command.program);
  return package ? !package->manifest.dimensions.empty() : declares_sizes(command.task);
}

// 0 if the program passed, 1 if it did not, 4 if the machine's fault kept it from being judged.
Result<int> run_verify(const VerifyCommand& command, Console& console) {
  auto asked = verify_options(command);
  if (!asked)
    return is_not_judged(command, asked.error()) ? say_not_judged(command, asked.error(), console)
                                                 : Result<int>(asked.error());
  if (!command.all.empty()) return run_verify_all(command, console);
  verifier::VerifyOptions options = *std::move(asked);
  Warnings warnings(console);
  const Overwrite overwrite = overwrite_if(command.force);
  for (const std::string& file : {command.out, command.receipt})
    if (!file.empty()) STITCH_CHECK(check_output_file(file, overwrite));
  STITCH_TRY(const GpuSpec here, choose_gpu(""));
  const TimeAccount::Entries spent_before = TimeAccount::all();
  const SpentOn spent("verify");
  Result<verifier::Verdict> verdict = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "verifying");
    options.on_progress = [&](std::string_view text) { progress.detail(text); };
    options.on_warning = warnings.above(progress);
    options.on_notice = [&](std::string_view text) { progress.say(text); };
    const auto lender = is_for_ranges(command)
                            ? lend_for_ranges(command.task, command.task_options.python, progress)
                            : std::nullopt;
    verdict = verifier::verify(command.task, options,
                               task_options(command, code::limits_of(command.program, here)));
  }
  if (!verdict && is_not_judged(command, verdict.error()))
    return say_not_judged(command, verdict.error(), console);
  if (!verdict) return std::move(verdict).error();
  Json document = to_json(*verdict);
  document["time"] = agents::time_spent(TimeAccount::since(spent_before), spent.seconds());
  warnings.add_to(document);
  if (!command.receipt.empty() && verdict->passed()) remember_output_file(command.receipt);
  if (!command.out.empty()) STITCH_CHECK(write_output_file(command.out, document_text(document), overwrite));
  if (console.json)
    console.out << document_text(document);
  else
    console.out << table(*verdict, console.out_terminal);
  return verdict->passed() ? 0 : 1;
}

}  // namespace

Run add_verify(CLI::App& app) {
  const auto verify = std::make_shared<VerifyCommand>();
  Flags flags(app, "verify", "Check a program against its task and time it");
  const Flag program = flags("PROGRAM", verify->program,
                             "a program folder, a .cu file, or a .py file with ModelNew; none with --all")
                           .required();
  const Flag task =
      flags("--task", verify->task, "TASK", "what it must compute: a .py file or a graph folder").required();
  flags("--all", verify->all, "FOLDER",
        "judge many candidates: a folder of AUTHOR/TASK/SAMPLE.py, .cu or program folders, or a .jsonl "
        "manifest; resumes where it stopped")
      .replaces(program)
      .replaces(task);
  flags("--tasks", verify->tasks, "DIR", "with --all: the folder of the tasks' .py files");
  flags("--jobs", verify->jobs, "NUMBER", "with --all: candidates compiled at once (default: one per core)")
      .between(1, 1024);
  flags.numerics(verify->numerics);
  flags.device(verify->device);
  flags.baselines(verify->baselines);
  flags("--fresh-baselines", verify->fresh_baselines, "measure baselines even if they are in the cache");
  flags("--sanitizer", verify->sanitizer,
        "run compute-sanitizer's memcheck, racecheck and initcheck; on the emulated GPU, AddressSanitizer");
  flags("--asan", verify->address_sanitizer, "run under AddressSanitizer (emulated GPU only)");
  flags("--quick", verify->quick, "check with two seeds and one set of weights: for work in progress");
  flags("--no-timing", verify->no_timing, "verify without timing");
  flags("--compat", verify->compatible, "NAME",
        "kernelbench: also require its allclose to accept the result");
  flags("--receipt", verify->receipt, "FILE", "write a receipt if it passes; implies --sanitizer");
  flags("-o,--out", verify->out, "FILE",
        "write the verdict as JSON; with --all, the folder of results (default: NAME-results)");
  flags("--seed", verify->seed, "HEX", "the seed of an earlier verdict, to reproduce it");
  flags("--time-limit", verify->time_limit, "SECONDS",
        "seconds allowed for one call of the program (default: 60)")
      .between(1, 3600);
  flags("--build-time-limit", verify->build_time_limit, "SECONDS",
        "seconds allowed for the compiler (default: 300)")
      .between(1, 3600);
  flags("--memory-limit", verify->memory_limit, "GB",
        "the program's host memory limit in GB (default: half of the machine's)")
      .between(0.1, 1e6);
  flags("--reference-time-limit", verify->reference_time_limit, "SECONDS",
        "seconds allowed for one PyTorch evaluation; beyond it the program is not judged (default: 1800)")
      .between(1, 86400);
  flags.task(verify->task_options, "the task's class");
  flags.force(verify->force);
  flags.json();
  flags.examples(
      "stitchcuda verify examples/programs/layer_norm --task examples/programs/layer_norm/task.py\n"
      "stitchcuda verify program/ --task model.py --baselines all --receipt model.receipt.json\n"
      "stitchcuda verify model_new.py --task model.py --numerics tf32 --json\n"
      "stitchcuda verify --all candidates/ --tasks KernelBench/level1 -o results/");
  return [verify](Console& console) { return run_verify(*verify, console); };
}

}  // namespace stitch
