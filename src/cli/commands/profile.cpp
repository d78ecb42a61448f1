#include "cli/commands/profile.h"

#include "cli/commands/commands.h"

#include <nlohmann/json.hpp>

#include "base/terminal/progress.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/pages/page.h"
#include "code/limits.h"
#include "gpu/gpu_lock.h"
#include "reference/torch_reference.h"
#include "verify/verify.h"

namespace stitch {

namespace {

struct Asked {
  fs::path model, program;  // either may be empty
};

// A .py file or a graph is a model; everything else has to be a program.
Result<Asked> asked(const ProfileCommand& command) {
  Asked out;
  const fs::path target = command.target;
  std::error_code ignored;
  const bool graph = target.extension() == ".txt" || fs::exists(target / "graph.txt", ignored);
  const bool model = Task::is_python(target) || (graph && !fs::exists(target / "program.cu", ignored));
  if (model && !command.task.empty())
    return user_error("profile", format("'{}' is a model: --task is for programs", command.target),
                      "stitchcuda profile PROGRAM --task MODEL");
  if (!model && !command.program.empty())
    return user_error("profile", format("'{}' is a program: --program is for models", command.target),
                      "stitchcuda profile MODEL --program PROGRAM");
  out.model = model ? target : fs::path(command.task);
  out.program = model ? fs::path(command.program) : target;
  if (!out.program.empty())
    STITCH_CHECK(load_package(out.program));  // before the import, which may take a minute
  if (!out.model.empty() && !fs::exists(out.model, ignored))
    return user_error("no_file", format("no such file: '{}'", out.model.string()));
  return out;
}

Result<profile::Timeline> pytorch_timeline(verifier::TorchProcess process, const verifier::TaskGraph& task,
                                           const ProfileCommand& command, const GpuSpec& gpu,
                                           Progress& progress) {
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  progress.detail("loading the model into PyTorch");
  STITCH_TRY(auto torch, verifier::TorchReference::load(std::move(process), task, numerics, "cuda"));
  progress.detail(format("preparing PyTorch's {}", command.baseline));
  STITCH_TRY(verifier::Samples ready, torch->prepare_baseline(command.baseline, 1));
  if (!ready.unavailable.empty()) return work_error("no_baseline", ready.unavailable);
  progress.detail("waiting for the GPU");
  STITCH_TRY(GpuLock alone, GpuLock::take());
  progress.detail("recording one call of PyTorch");
  return torch->profile_baseline(command.baseline, gpu.name);
}

// The plan that the program was written from; nothing: it has none, as programs written by hand.
Result<std::optional<plan::PlannedCall>> plan_of(const fs::path& program) {
  const fs::path file = program / plan_file;
  std::error_code ignored;
  if (program.empty() || !fs::exists(file, ignored)) return std::optional<plan::PlannedCall>();
  STITCH_TRY(const Json document, load_plan_file(file.string()));
  auto planned = plan::read_planned_call(document);
  if (!planned) return within(file.string(), std::move(planned).error());
  return std::optional(*std::move(planned));
}

// Without a GPU: the plan's own times, so that this says what `optimize` and `plan` said of the program.
void estimate_program(ProfileRun& run, const std::optional<plan::PlannedCall>& planned) {
  profile::Timeline& timeline = run.collected->timeline;
  const Manifest& manifest = run.collected->manifest;
  if (planned && planned->gpu == run.gpu.name && planned->regions.size() == manifest.regions.size()) {
    estimate_times(timeline, *planned);
    run.program_seconds = planned->seconds;
    timeline.note = format("launches of the emulated GPU with the plan's estimates for {}", run.gpu.name);
  } else if (run.graph && !manifest.regions.empty()) {
    const plan::PlannedCall call = estimated_call(timeline, manifest, *run.graph, run.gpu);
    estimate_times(timeline, call);
    run.program_seconds = call.seconds;
    timeline.note = format(
        "launches of the emulated GPU; {}, so each region is estimated at what good kernels reach on {}",
        planned ? format("the plan is for {}", planned->gpu) : "the program has no plan", run.gpu.name);
  } else {
    timeline.note = "launches of the emulated GPU in order: it has no meaningful times";
  }
}

}  // namespace

Result<int> run_profile(const ProfileCommand& command, Console& console) {
  const Overwrite overwrite = overwrite_if(command.force);
  for (const std::string& file : {command.html, command.trace})
    if (!file.empty()) STITCH_CHECK(check_output_file(file, overwrite));
  STITCH_TRY(std::vector<std::string> kinds, baselines_named(command.baseline));
  if (kinds.size() > 1)
    return user_error("baselines", "--baseline takes a single baseline", "--baseline eager, for example");
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  STITCH_TRY(const profile::CounterTool counter_tool, profile::parse_counter_tool(command.counters_by));
  STITCH_TRY(const Asked what, asked(command));
  STITCH_TRY(const runner::Device device, choose_device(command.device));
  const bool cuda = device == runner::Device::cuda;
  ProfileRun run{.model = what.model.string(),
                 .program = what.program.string(),
                 .device = cuda ? "cuda" : "emulated",
                 .baseline = command.baseline};
  STITCH_TRY(const std::optional<plan::PlannedCall> planned, plan_of(what.program));
  STITCH_TRY(run.gpu, choose_gpu(command.gpu.empty() && !cuda && planned ? planned->gpu : command.gpu));
  Warnings warnings(console);
  std::shared_ptr<const Task> task;
  {
    Progress progress(console.err, console.err_terminal, console.json, "profiling");
    auto tell = [&](std::string_view text) { progress.detail(text); };
    if (!what.model.empty()) {
      TaskOptions how = command.task_options;
      how.limits = code::limits_of(what.program, run.gpu);
      STITCH_TRY(verifier::OpenedTask opened, verifier::open_task_to_judge(what.model, how, tell));
      task = opened.task;
      run.graph = &task->graph;
      if (!kinds.empty()) {
        if (cuda && opened.process) {
          const verifier::TaskGraph graph(task);
          auto timeline = pytorch_timeline(*std::move(opened.process), graph, command, run.gpu, progress);
          if (timeline)
            run.pytorch = *std::move(timeline);
          else if (what.program.empty())
            return std::move(timeline).error();
          else
            run.notes.push_back("no timeline of PyTorch: " + timeline.error().message);
        } else {
          run.pytorch_estimate = plan::estimate_pytorch(task->graph, run.gpu, numerics);
          run.baseline = kinds[0] == "eager" ? "eager" : "eager-graph";
          run.pytorch =
              estimated_timeline(run.pytorch_estimate, task->graph, run.gpu, run.baseline == "eager-graph");
        }
      }
    }
    if (!what.program.empty()) {
      profile::CollectOptions options{.program = what.program,
                                      .device = device,
                                      .gpu = run.gpu,
                                      .counters = command.counters,
                                      .counter_tool = counter_tool,
                                      .nsys_report = command.nsys,
                                      .weights = task ? task->weights.get() : nullptr,
                                      .on_progress = tell};
      STITCH_TRY(run.collected, profile::collect(options));
      if (!cuda) estimate_program(run, planned);
      for (const std::string& note : run.collected->notes) run.notes.push_back(note);
    }
  }
  if (run.collected && run.model.empty())
    run.notes.emplace_back("--task MODEL adds PyTorch's timeline, the model's lines and each region's work");
  Json document = profile_json(run);
  if (!command.trace.empty()) {
    std::vector<profile::Timeline> timelines;
    if (run.pytorch) timelines.push_back(*run.pytorch);
    if (run.collected) timelines.push_back(run.collected->timeline);
    const std::string text = line_text(profile::chrome_trace(timelines));
    STITCH_CHECK(write_output_file(command.trace, text + "\n", overwrite));
    document["trace"] = command.trace;
  }
  if (!command.html.empty()) {
    Json whole = document;
    if (run.collected) whole["sources"] = sources_of(run.collected->package);
    STITCH_CHECK(write_output_file(command.html, page(View::profile, whole), overwrite));
    document["html"] = command.html;
  }
  warnings.add_to(document);
  if (console.json) {
    console.out << document_text(document);
    return 0;
  }
  console.out << profile_text(document, console.out_terminal);
  if (!command.trace.empty())
    console.out << format("{}: open it in chrome://tracing or ui.perfetto.dev\n", command.trace);
  if (!command.html.empty()) console.out << format("{}: open it in any browser\n", command.html);
  return 0;
}

Run add_profile(CLI::App& app) {
  const auto profile = std::make_shared<ProfileCommand>();
  Flags flags(app, "profile", "Profile a forward pass of PyTorch and of a program, and name the bottleneck");
  flags("TARGET", profile->target, "a program folder, a .cu file, or a model's .py file").required();
  flags("--task", profile->task, "MODEL", "the program's model: a .py file or a graph folder");
  flags("--program", profile->program, "PROGRAM", "the model's program: a folder or a .cu file");
  flags("--html", profile->html, "FILE", "write an HTML page with both timelines");
  flags("--trace", profile->trace, "FILE", "write a trace for chrome://tracing or Perfetto");
  flags("--counters", profile->counters,
        "read hardware counters of the hottest kernels; on the emulated GPU, its own counters");
  flags("--counters-by", profile->counters_by, "TOOL",
        "the tool that reads them: ncu (Nsight Compute), cupti (CUPTI's range profiler), or any: ncu, else "
        "cupti (default: any)");
  flags("--nsys", profile->nsys, "FILE", "also write an Nsight Systems report, if nsys is installed");
  flags("--baseline", profile->baseline, "NAME",
        "the PyTorch baseline: eager, eager-graph, compile, compile-graph or none (default: eager)");
  flags.numerics(profile->numerics);
  flags.device(profile->device);
  flags.gpu(profile->gpu, "the GPU to estimate for");
  flags.task(profile->task_options, "the model's class");
  flags.force(profile->force);
  flags.json();
  flags.examples(
      "stitchcuda profile program/ --task model.py --html profile.html\n"
      "stitchcuda profile program/ --counters --trace profile.json\n"
      "stitchcuda profile model.py --baseline compile-graph");
  return [profile](Console& console) { return run_profile(*profile, console); };
}

}  // namespace stitch
