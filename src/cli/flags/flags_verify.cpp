// Flags, help and examples of verify, receipt, baselines, profile.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/flags/model_options.h"

namespace stitch {

void add_verify(CLI::App& app, Options& options) {
  VerifyCommand& verify = options.verify;
  CLI::App& command = *app.add_subcommand("verify", "Check a program against its task and time it");
  CLI::Option* program =
      command.add_option("PROGRAM", verify.program,
                         "a program folder, a .cu file, or a .py file with ModelNew; none with --all");
  CLI::Option* task =
      command.add_option("--task", verify.task, "what it must compute: a .py file or a graph folder")
          ->type_name("TASK");
  program->required();
  task->required();
  command
      .add_option("--all", verify.all,
                  "judge many candidates: a folder of AUTHOR/TASK/SAMPLE.py, .cu or program folders, or a "
                  ".jsonl manifest; resumes where it stopped")
      ->type_name("FOLDER")
      ->excludes(program)
      ->excludes(task)
      ->each([program, task](const std::string&) {
        program->required(false);
        task->required(false);
      });
  command.add_option("--tasks", verify.tasks, "with --all: the folder of the tasks' .py files")
      ->type_name("DIR");
  command
      .add_option("--jobs", verify.jobs, "with --all: candidates compiled at once (default: one per core)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--numerics", verify.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--device", verify.device, "cuda or emulated (default: cuda if there is a GPU)")
      ->type_name("NAME");
  command
      .add_option("--baselines", verify.baselines,
                  "PyTorch baselines to time: eager,eager-graph,compile,compile-graph; all; none")
      ->type_name("LIST");
  command.add_flag("--fresh-baselines", verify.fresh_baselines,
                   "measure baselines even if they are in the cache");
  command.add_flag(
      "--sanitizer", verify.sanitizer,
      "run compute-sanitizer's memcheck, racecheck and initcheck; on the emulated GPU, AddressSanitizer");
  command.add_flag("--asan", verify.address_sanitizer, "run under AddressSanitizer (emulated GPU only)");
  command.add_flag("--quick", verify.quick,
                   "check with one seed and one set of weights: for work in progress");
  command.add_flag("!--no-timing", verify.timing, "verify without timing");
  command
      .add_option("--compat", verify.compatible,
                  "kernelbench: also require its allclose to accept the result")
      ->type_name("NAME");
  command.add_option("--receipt", verify.receipt, "write a receipt if it passes; implies --sanitizer")
      ->type_name("FILE");
  command
      .add_option("-o,--out", verify.out,
                  "write the verdict as JSON; with --all, the folder of results (default: NAME-results)")
      ->type_name("FILE");
  command.add_option("--seed", verify.seed, "the seed of an earlier verdict, to reproduce it")
      ->type_name("HEX");
  command
      .add_option("--time-limit", verify.time_limit,
                  "seconds allowed for one call of the program (default: 60)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
  command
      .add_option("--build-time-limit", verify.build_time_limit,
                  "seconds allowed for the compiler (default: 300)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
  command
      .add_option("--memory-limit", verify.memory_limit,
                  "the program's host memory limit in GB (default: half of the machine's)")
      ->type_name("GB")
      ->check(CLI::Range(0.1, 1e6));
  command
      .add_option(
          "--reference-time-limit", verify.reference_time_limit,
          "seconds allowed for one PyTorch evaluation; beyond it the program is not judged (default: 1800)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command.add_option("--class", verify.model_class, "the task's class, instead of Model")->type_name("NAME");
  command.add_option("--python", verify.python, "the Python to use for the task")->type_name("PATH");
  add_mode(command, verify.mode);
  add_force(command, verify.force);
  add_json(command, options);
  command.footer(
      "stitchcuda verify examples/programs/layer_norm --task examples/programs/layer_norm/task.py\n"
      "stitchcuda verify program/ --task model.py --baselines all --receipt model.receipt.json\n"
      "stitchcuda verify model_new.py --task model.py --numerics tf32 --json\n"
      "stitchcuda verify --all candidates/ --tasks KernelBench/level1 -o results/");
}

void add_receipt(CLI::App& app, Options& options) {
  ReceiptCommand& receipt = options.receipt;
  CLI::App& command = *app.add_subcommand("receipt", "Repeat a verified result from its receipt");
  command
      .add_option("ACTION", receipt.action,
                  "check: judge the program again; key: print this installation's public key")
      ->required();
  command.add_option("RECEIPT", receipt.receipt, "a file that verify --receipt wrote");
  command.add_option("--program", receipt.program, "where the program is now")->type_name("PATH");
  command.add_option("--task", receipt.task, "where the task is now")->type_name("PATH");
  command
      .add_option("--key", receipt.key,
                  "the public key it must be signed with: 64 hexadecimal digits or a file (default: this "
                  "installation's)")
      ->type_name("KEY");
  command
      .add_option("--numerics", receipt.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--device", receipt.device, "cuda or emulated (default: cuda if there is a GPU)")
      ->type_name("NAME");
  command.add_option("--python", receipt.python, "the Python to use for the task")->type_name("PATH");
  add_mode(command, receipt.mode);
  add_json(command, options);
  command.footer(
      "stitchcuda receipt check model.receipt.json\n"
      "stitchcuda receipt check program/receipt.json --task model.py --numerics tf32 --key colleague.pub\n"
      "stitchcuda receipt key");
}

void add_baselines(CLI::App& app, Options& options) {
  BaselinesCommand& baselines = options.baselines;
  CLI::App& command = *app.add_subcommand("baselines", "Time PyTorch's baselines on the GPU");
  command.add_option("TASK", baselines.tasks, "one or more .py tasks")->required();
  command
      .add_option("--baselines", baselines.baselines,
                  "eager,eager-graph,compile,compile-graph (default: all)")
      ->type_name("LIST");
  command
      .add_option("--numerics", baselines.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--calls", baselines.calls, "timed calls of each baseline (default: 100)")
      ->type_name("NUMBER")
      ->check(CLI::Range(5, 100000));
  command.add_option("--python", baselines.python, "the Python to use")->type_name("PATH");
  add_mode(command, baselines.mode);
  add_json(command, options);
  command.footer("stitchcuda baselines model.py --baselines compile,compile-graph");
}

void add_profile(CLI::App& app, Options& options) {
  ProfileCommand& profile = options.profile;
  CLI::App& command = *app.add_subcommand(
      "profile", "Profile a forward pass of PyTorch and of a program, and name the bottleneck");
  command.add_option("TARGET", profile.target, "a program folder, a .cu file, or a model's .py file")
      ->required();
  command.add_option("--task", profile.task, "the program's model: a .py file or a graph folder")
      ->type_name("MODEL");
  command.add_option("--program", profile.program, "the model's program: a folder or a .cu file")
      ->type_name("PROGRAM");
  command.add_option("--html", profile.html, "write an HTML page with both timelines")->type_name("FILE");
  command.add_option("--trace", profile.trace, "write a trace for chrome://tracing or Perfetto")
      ->type_name("FILE");
  command.add_flag("--counters", profile.counters,
                   "read hardware counters of the hottest kernels; on the emulated GPU, its own counters");
  command
      .add_option("--counters-by", profile.counters_by,
                  "the tool that reads them: ncu (Nsight Compute), cupti (CUPTI's range profiler), or any: "
                  "ncu, else cupti (default: any)")
      ->type_name("TOOL");
  command.add_option("--nsys", profile.nsys, "also write an Nsight Systems report, if nsys is installed")
      ->type_name("FILE");
  command
      .add_option("--baseline", profile.baseline,
                  "the PyTorch baseline: eager, eager-graph, compile, compile-graph or none (default: eager)")
      ->type_name("NAME");
  command
      .add_option("--numerics", profile.numerics,
                  "numerics class of the PyTorch baseline: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  command.add_option("--device", profile.device, "cuda or emulated (default: cuda if there is a GPU)")
      ->type_name("NAME");
  command
      .add_option("--gpu", profile.gpu, "the GPU to estimate for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command.add_option("--class", profile.model_class, "the model's class, instead of Model")
      ->type_name("NAME");
  command.add_option("--python", profile.python, "the Python to use for the model")->type_name("PATH");
  add_mode(command, profile.mode);
  add_force(command, profile.force);
  add_json(command, options);
  command.footer(
      "stitchcuda profile program/ --task model.py --html profile.html\n"
      "stitchcuda profile program/ --counters --trace profile.json\n"
      "stitchcuda profile model.py --baseline compile-graph");
}

}  // namespace stitch
