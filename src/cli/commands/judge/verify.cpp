#include "cli/commands/judge/verify.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "agents/loop/measured_gain.h"
#include "base/error_codes.h"
#include "base/json.h"
#include "base/machine/time_account.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/commands/commands.h"
#include "cli/flags/model_options.h"
#include "cli/output_place.h"
#include "code/limits.h"
#include "rubric/reward.h"
#include "rubric/sources.h"
#include "verify/many/label.h"
#include "verify/not_judged.h"
#include "verify/verdict_document.h"
#include "verify/verify.h"

namespace stitch {

namespace {

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
  const bool named_by_user = error.code == error_code::no_python && !command.python.empty();
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
    verdict = verifier::verify(command.task, options,
                               {.model_class = command.model_class,
                                .mode = command.mode,
                                .python = command.python,
                                .algebra = command.compatible.empty(),
                                .limits = code::limits_of(command.program, here)});
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

Result<verifier::VerifyOptions> verify_options(const VerifyCommand& command) {
  verifier::VerifyOptions options;
  options.program = command.program;
  STITCH_TRY(options.numerics, parse_numerics(command.numerics));
  STITCH_TRY(options.device, choose_device(command.device));

  bool cuda = options.device == runner::Device::cuda;
  std::string baselines = command.baselines != "auto" ? command.baselines
                          : cuda                      ? "eager,eager-graph"
                                                      : "none";
  STITCH_TRY(options.baselines, baselines_named(baselines));
  STITCH_TRY(options.seed, seed_of(command.seed));
  STITCH_CHECK(check_compatible(command.compatible));
  options.kernelbench_compatible = !command.compatible.empty();
  options.fresh_baselines = command.fresh_baselines;
  options.sanitizer = command.sanitizer || !command.receipt.empty();
  options.address_sanitizer = command.address_sanitizer;
  options.quick = command.quick;
  options.timing = command.timing;
  options.receipt = command.receipt;
  options.time_limit = std::chrono::seconds(command.time_limit);
  options.build_time_limit = std::chrono::seconds(command.build_time_limit);
  options.memory_limit = static_cast<int64_t>(command.memory_limit * 1e9);
  options.reference_time_limit = std::chrono::seconds(command.reference_time_limit);
  return options;
}

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
  flags("--baselines", verify->baselines, "LIST",
        "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none");
  flags("--fresh-baselines", verify->fresh_baselines, "measure baselines even if they are in the cache");
  flags("--sanitizer", verify->sanitizer,
        "run compute-sanitizer's memcheck, racecheck and initcheck; on the emulated GPU, AddressSanitizer");
  flags("--asan", verify->address_sanitizer, "run under AddressSanitizer (emulated GPU only)");
  flags("--quick", verify->quick, "check with one seed and one set of weights: for work in progress");
  flags("!--no-timing", verify->timing, "verify without timing");
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
  flags.model_class(verify->model_class, "the task's class");
  flags.python(verify->python, "the Python to use for the task");
  flags.mode(verify->mode);
  flags.force(verify->force);
  flags.json();
  flags.examples(
      "stitchcuda verify examples/programs/layer_norm --task examples/programs/layer_norm/task.py\n"
      "stitchcuda verify program/ --task model.py --baselines all --receipt model.receipt.json\n"
      "stitchcuda verify model_new.py --task model.py --numerics tf32 --json\n"
      "stitchcuda verify --all candidates/ --tasks KernelBench/level1 -o results/");
  return [verify](Console& console) { return run_verify(*verify, console); };
}

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

}  // namespace stitch
