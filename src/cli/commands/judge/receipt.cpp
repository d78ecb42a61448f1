#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/progress.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "code/limits.h"
#include "graph/mode.h"
#include "verify/receipt.h"
#include "verify/signing_key.h"

namespace stitch {

namespace {

struct ReceiptCommand {
  std::string action;  // check, key
  std::string receipt;
  std::string program, task;
  std::string key;
  std::string numerics = "default";
  std::string device = "auto";
  Mode mode = Mode::as_written;
  std::string python;
};

Result<int> print_key(Console& console) {
  STITCH_TRY(KeyBytes seed, verifier::signing_key());
  const std::string key = hex_of(public_key_of(seed));
  if (console.json)
    console.out << document_text(
        {{"key", key}, {"file", (verifier::signing_key_folder() / "receipt.pub").string()}});
  else
    console.out << key << '\n';
  return 0;
}

std::string conclusion(const verifier::ReceiptCheck& check, const Terminal& terminal) {
  if (!check.passed) return styled("the receipt does not hold", Style::bad, terminal);
  return styled("the receipt holds", Style::good, terminal) +
         (check.claims_speed ? "" : " for the results; it claims no speed");
}

Result<int> run_receipt(const ReceiptCommand& command, Console& console) {
  if (command.action == "key") return print_key(console);
  if (command.action != "check")
    return user_error("receipt", format("unknown action '{}'", command.action),
                      "stitchcuda receipt check FILE");
  if (command.receipt.empty())
    return user_error("receipt", "RECEIPT is required", "stitchcuda receipt check FILE");
  STITCH_TRY(const GpuSpec here, choose_gpu(""));
  verifier::ReceiptOptions options{
      .receipt = command.receipt,
      .program = command.program,
      .task = command.task,
      .mode = command.mode,
      .python = command.python,
      .limits = [here](const fs::path& program) { return code::limits_of(program, here); }};
  STITCH_TRY(options.numerics, parse_numerics(command.numerics));
  STITCH_TRY(options.device, choose_device(command.device));
  if (!command.key.empty()) {
    STITCH_TRY(options.key, verifier::read_public_key(command.key));
  }
  Warnings warnings(console);
  Result<verifier::ReceiptCheck> check = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "checking");
    options.on_progress = [&](std::string_view text) { progress.detail(text); };
    options.on_warning = warnings.above(progress);
    check = verifier::check_receipt(options);
  }
  if (!check) return std::move(check).error();
  if (console.json) {
    Json json = {{"passed", check->passed},
                 {"claims_speed", check->claims_speed},
                 {"key", check->signed_by},
                 {"differences", check->differences}};
    if (check->verdict) json["verdict"] = to_json(*check->verdict);
    warnings.add_to(json);
    console.out << document_text(json);
  } else {
    if (check->verdict) console.out << table(*check->verdict, console.out_terminal) << '\n';
    for (const std::string& difference : check->differences)
      console.out << "differs: " << printable(difference) << '\n';
    console.out << conclusion(*check, console.out_terminal) << '\n';
  }
  return check->passed ? 0 : 1;
}

}  // namespace

Run add_receipt(CLI::App& app) {
  const auto receipt = std::make_shared<ReceiptCommand>();
  Flags flags(app, "receipt", "Repeat a verified result from its receipt");
  flags("ACTION", receipt->action,
        "check: judge the program again; key: print this installation's public key")
      .required();
  flags("RECEIPT", receipt->receipt, "a file that verify --receipt wrote");
  flags("--program", receipt->program, "PATH", "where the program is now");
  flags("--task", receipt->task, "PATH", "where the task is now");
  flags("--key", receipt->key, "KEY",
        "the public key it must be signed with: 64 hexadecimal digits or a file (default: this "
        "installation's)");
  flags.numerics(receipt->numerics);
  flags.device(receipt->device);
  flags.python(receipt->python, "the Python to use for the task");
  flags.mode(receipt->mode);
  flags.json();
  flags.examples(
      "stitchcuda receipt check model.receipt.json\n"
      "stitchcuda receipt check program/receipt.json --task model.py --numerics tf32 --key colleague.pub\n"
      "stitchcuda receipt key");
  return [receipt](Console& console) { return run_receipt(*receipt, console); };
}

}  // namespace stitch
