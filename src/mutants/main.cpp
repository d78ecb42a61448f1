// stitchcuda-mutants: mutation testing of the Verifier.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/machine/interrupt.h"
#include "base/machine/parallel.h"
#include "base/terminal/progress.h"
#include "base/text.h"
#include "gpu/gpu_detect.h"
#include "mutants/campaign.h"
#include "mutants/report.h"
#include "reference/torch_lender.h"

namespace {

using namespace stitch;
using namespace stitch::mutants;

struct Arguments {
  std::vector<std::string> tasks;
  std::string out, device = "emulated", numerics = "default", seed = "1", variants = "optimised,plain",
                   python, survivors;
  size_t per_program = 20, most = 0;
  int jobs = 0;
  double seconds = 0;
  bool quick = false, sanitize = false, json = false, questions = false;
};

Result<std::vector<Subject>> subjects_of(const Arguments& arguments) {
  std::vector<Subject> out;
  for (const std::string& variant : split(arguments.variants, ',')) {
    if (variant != "optimised" && variant != "plain")
      return user_error("variants", format("there is no variant '{}'", variant), "one of: optimised, plain");
    for (const std::string& task : arguments.tasks) {
      std::error_code ec;
      if (!fs::exists(task, ec)) return at(task, user_error("no_file", "there is no such task"));
      out.push_back({task, variant == "plain" ? Variant::plain : Variant::optimised});
    }
  }
  return out;
}

Result<CampaignOptions> options_of(const Arguments& arguments) {
  CampaignOptions out;
  STITCH_TRY(out.subjects, subjects_of(arguments));
  if (arguments.device != "emulated" && arguments.device != "cuda")
    return user_error("device", format("there is no device '{}'", arguments.device), "emulated or cuda");
  out.bench.device = arguments.device == "cuda" ? runner::Device::cuda : runner::Device::emulated;
  STITCH_TRY(out.bench.numerics, parse_numerics(arguments.numerics));
  const auto seed = parse_integer(arguments.seed);
  if (!seed) return user_error("seed", format("'{}' is no number", arguments.seed));
  out.bench.seed = static_cast<uint64_t>(*seed);
  STITCH_TRY(out.bench.gpu, find_gpu("H200"));
  if (out.bench.device == runner::Device::cuda) {
    STITCH_TRY(Driver driver, detect_gpus());
    if (driver.gpus.empty())
      return user_error(error_code::no_gpu, "there is no GPU in this machine", "use --device emulated");
    out.bench.gpu = spec_of(driver.gpus[0]);
  }
  if (!arguments.survivors.empty()) {
    STITCH_TRY(out.only, survivors_in(arguments.survivors));
  }
  out.bench.quick = arguments.quick;
  out.bench.python = arguments.python;
  out.per_program = arguments.per_program;
  out.most = arguments.most;
  out.seconds = arguments.seconds;
  out.sanitize_survivors = arguments.sanitize;
  out.jobs = arguments.jobs > 0 ? arguments.jobs : core_count();
  out.out = arguments.out;
  return out;
}

Result<int> ask_about_graphs(const Arguments& arguments, const CampaignOptions& options) {
  std::vector<Json> records;
  std::string lines;
  for (const std::string& task : arguments.tasks) {
    if (stop_requested()) break;
    records.push_back(questions_about(task, options.bench));
    lines += line_text(records.back()) + '\n';
    std::error_code failed;
    fs::create_directories(options.out, failed);
    STITCH_CHECK(write_file(options.out / "adequacy.jsonl", lines));
    std::cerr << word(records.back(), "task") << '\n';
  }
  std::cout << questions_text(records, terminal_of(STDOUT_FILENO));
  return 0;
}

Result<int> run(const Arguments& arguments) {
  STITCH_TRY(CampaignOptions options, options_of(arguments));
  // Parallel jobs share the cores.
  const int threads = std::max(1, core_count() / options.jobs);
  set_thread_count(threads);
  ::setenv("STITCHCUDA_THREADS", format("{}", threads).c_str(), 1);
  std::optional<verifier::TorchLender> lender;
  if (auto lent = verifier::TorchLender::start(arguments.python)) lender.emplace(*std::move(lent));
  StopPolitely polite;
  options.should_stop = stop_requested;
  if (arguments.questions) return ask_about_graphs(arguments, options);
  const size_t wanted =
      options.only.empty() ? options.subjects.size() * options.per_program : options.only.size();
  Result<Campaign> campaign = work_error("", "");
  {
    Progress progress(std::cerr, terminal_of(STDERR_FILENO), arguments.json, "judging mutants",
                      static_cast<int64_t>(options.most ? std::min(options.most, wanted) : wanted));
    options.on_judged = [&](const Json& record) {
      progress.advance();
      progress.detail(format("{}: {}", word(record, "program"), word(record, "fate")));
    };
    options.on_notice = [&](std::string_view text) { progress.say(printable(text)); };
    campaign = run_campaign(options);
  }
  if (!campaign) return std::move(campaign).error();
  if (arguments.json)
    std::cout << document_text(report_json(*campaign));
  else
    std::cout << report_text(*campaign, terminal_of(STDOUT_FILENO));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  clean_up_on_interrupts();
  Arguments arguments;
  CLI::App app(
      "Puts small mistakes into correct programs and counts those that the Verifier finds.\n"
      "The programs are the built-in Coder's, one optimised and one plain for each task.",
      "stitchcuda-mutants");
  app.add_option("TASK", arguments.tasks, "tasks: .py files or graph folders")->required();
  app.add_option("-o,--out", arguments.out, "the folder of results.jsonl; a run that was ended goes on there")
      ->type_name("FOLDER")
      ->required()
      ->take_last();  // ./dev mutants passes one, too
  app.add_option("--each", arguments.per_program, "mutants of each program (default: 20)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--most", arguments.most, "mutants in all (default: no limit)")->type_name("NUMBER");
  app.add_option("--seconds", arguments.seconds, "no mutant is begun after this (default: no limit)")
      ->type_name("SECONDS");
  app.add_option("-j,--jobs", arguments.jobs, "how many are judged side by side (default: the cores)")
      ->type_name("NUMBER");
  app.add_option("--seed", arguments.seed, "which mutants, and which inputs they are asked (default: 1)")
      ->type_name("NUMBER");
  app.add_option("--variants", arguments.variants, "optimised, plain (default: both)")->type_name("LIST");
  app.add_option("--survivors-of", arguments.survivors,
                 "only those that survived in this results.jsonl: does a new gate find them?")
      ->type_name("FILE");
  app.add_option("--numerics", arguments.numerics, "strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  app.add_option("--device", arguments.device, "emulated or cuda (default: emulated)")->type_name("NAME");
  app.add_option("--python", arguments.python, "the Python to use for the tasks")->type_name("PATH");
  app.add_flag("--quick", arguments.quick, "two seeds and one kind of inputs: how blind is verify --quick?");
  app.add_flag("--sanitize", arguments.sanitize,
               "survivors once more under AddressSanitizer (cuda: compute-sanitizer)");
  app.add_flag("--questions", arguments.questions,
               "mutants of the tasks' graphs: what do the Verifier's questions tell apart, whatever program\n"
               "comes? Into adequacy.jsonl");
  app.add_flag("--json", arguments.json, "print one JSON document");
  app.footer(
      "Examples:\n"
      "  stitchcuda-mutants examples/mlp.py examples/gpt_block.py -o mutants/ --each 50\n"
      "  stitchcuda-mutants examples/*.py -o mutants/ --seconds 600 --json > mutants.json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto failed = [&](const Error& error) {
    if (arguments.json)
      std::cout << document_text({{"error", to_json(error)}});
    else
      for (std::string before = "error: "; const std::string& line : split(error.text(), '\n'))
        std::cerr << std::exchange(before, "") << printable(line) << '\n';
    return error.exit_code();
  };
  try {
    auto code = run(arguments);
    return code ? *code : failed(code.error());
  } catch (const std::exception& bug) {
    std::cerr << "a bug of ours: " << bug.what() << '\n';
    return 3;
  }
}
