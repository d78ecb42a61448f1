#include "cli/commands/judge/verify.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "agents/loop/time_spent.h"
#include "base/error_codes.h"
#include "base/json.h"
#include "base/machine/time_account.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "cli/choose_device.h"
#include "cli/choose_gpu.h"
#include "cli/commands/judge/baselines.h"
#include "cli/commands/judge/verify_all.h"
#include "cli/flags/model_options.h"
#include "cli/output_place.h"
#include "code/limits.h"
#include "verify/not_judged.h"
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

}  // namespace stitch
