// stitchcuda rubric: scores a program by the rubric, and computes its reward.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/progress.h"
#include "base/terminal/terminal.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "code/limits.h"
#include "graph/mode.h"
#include "llm/connect.h"
#include "rubric/code_facts.h"
#include "rubric/judge.h"
#include "rubric/reward.h"
#include "verify/verify.h"

namespace stitch {

namespace {

struct RubricCommand : JudgingFlags {
  std::string program, task;
  std::string before, feedback;         // of a change; both or none
  std::string verdict, before_verdict;  // known ones; empty: it is verified now
  bool verify = true;
  std::string judge = "builtin";
  std::string reward = "combined";
  std::string gpu;
  TaskOptions task_options;
  std::string config, prompts;
};

Result<rubric::Execution> read_execution(const std::string& file) {
  STITCH_TRY(std::string text, read_file(file));
  auto json = parse_json(text);
  if (!json) return within(file, json.error());
  auto run = rubric::execution_of(*json);
  if (!run) return at(file, run.error());
  return run;
}

// What a verification that couldn't be done says of the candidate: nothing.
rubric::Execution not_judged(const Error& error) {
  return {.outcome = rubric::Outcome::not_judged, .code = error.code, .reason = error.message};
}

struct Runs {
  rubric::Execution after, before;
  std::shared_ptr<const Task> task;
};

TaskOptions task_options(const RubricCommand& command, const GpuSpec& gpu) {
  TaskOptions out = command.task_options;
  out.limits = code::limits_of(command.program, gpu);
  return out;
}

Result<void> verify_them(const RubricCommand& command, const GpuSpec& gpu, Console& console,
                         Warnings& warnings, Runs& out) {
  verifier::VerifyOptions options;
  options.program = command.program;
  STITCH_TRY(const runner::Device device, choose_device(command.device));
  STITCH_CHECK(read_judging(command, device, "all", options));
  Progress progress(console.err, console.err_terminal, console.json, "verifying");
  options.on_progress = [&](std::string_view text) { progress.detail(text); };
  options.on_warning = warnings.above(progress);
  options.on_notice = [&](std::string_view text) { progress.say(text); };
  STITCH_TRY(verifier::OpenedTask task,
             verifier::open_task_to_judge(command.task, task_options(command, gpu),
                                          [&](std::string_view text) { progress.detail(text); }));
  out.task = task.task;
  STITCH_TRY(std::unique_ptr<verifier::Verifier> verifier,
             verifier::Verifier::open(std::move(task), options));
  auto judge = [&](const std::string& program, const std::string& known,
                   rubric::Execution& run) -> Result<void> {
    if (program.empty() || !known.empty()) return {};
    options.program = program;
    auto verdict = verifier->judge(options);
    if (!verdict && verdict.error().blame == Error::Blame::user) return verdict.error();
    if (!verdict) {
      run = not_judged(verdict.error());
      return {};
    }
    STITCH_TRY(run, rubric::execution_of(to_json(*verdict)));
    return {};
  };
  STITCH_CHECK(judge(command.program, command.verdict, out.after));
  return judge(command.before, command.before_verdict, out.before);
}

Result<Runs> runs_of(const RubricCommand& command, const GpuSpec& gpu, Console& console, Warnings& warnings) {
  Runs out;
  if (!command.verdict.empty()) {
    STITCH_TRY(out.after, read_execution(command.verdict));
  }
  if (!command.before_verdict.empty()) {
    STITCH_TRY(out.before, read_execution(command.before_verdict));
  }
  const bool known = !command.verdict.empty() && (command.before.empty() || !command.before_verdict.empty());
  if (command.verify && !known) {
    STITCH_CHECK(verify_them(command, gpu, console, warnings, out));
  } else {
    TaskOptions options = task_options(command, gpu);
    options.weights = false;
    STITCH_TRY(out.task, load_model(command.task, options, console));
  }
  return out;
}

Result<rubric::Scores> judged(const RubricCommand& command, const rubric::Evidence& evidence,
                              Console& console) {
  if (command.judge == "builtin") return rubric::judge(evidence);
  STITCH_TRY(llm::Config config, llm::load_config(command.config));
  STITCH_TRY(llm::Profile profile, llm::choose_profile(config, command.judge));
  std::vector<prompts::Prompt> prompts = prompts::built_in();
  if (!command.prompts.empty()) {
    STITCH_TRY(prompts, prompts::with_folder(command.prompts));
  }
  STITCH_TRY(prompts::Prompt prompt, prompts::find(prompts, "judge"));
  const std::string name = format("llm:{}/{}", profile.name, profile.model);
  STITCH_TRY(std::unique_ptr<llm::Chat> chat,
             llm::connect({.profile = std::move(profile), .agent = llm::Agent::judge}));
  Progress progress(console.err, console.err_terminal, console.json, "asking " + name);
  return rubric::judge(evidence, {*chat, name, std::move(prompt)});
}

Result<std::unique_ptr<rubric::Before>> before_of(const RubricCommand& command, rubric::Execution run) {
  if (command.before.empty()) return std::unique_ptr<rubric::Before>();
  auto out = std::make_unique<rubric::Before>();
  STITCH_TRY(out->sources, rubric::read_sources(command.before));
  STITCH_TRY(out->feedback, read_file(command.feedback));
  out->run = std::move(run);
  return out;
}

// The reasons whole, however long: they are what it is asked for.
std::string scores_text(const rubric::Scores& scores, const rubric::Reward& reward, rubric::RewardKind kind,
                        const Terminal& terminal) {
  std::string out;
  for (rubric::Dimension each : rubric::all_dimensions) {
    const rubric::Score& score = scores[each];
    const Style style = score.score >= 4 ? Style::good : score.score >= 3 ? Style::warning : Style::bad;
    out += format("{:<17} {}  {}\n", words(each), styled(format("{:>2}", score.score), style, terminal),
                  printable(score.reason));
  }
  out += format("{:<17} {:>2}  of 20, by {}\n", "total", scores.total(), printable(scores.judge));
  if (!scores.fallback.empty())
    out += '\n' + styled("note:", Style::warning, terminal) + ' ' + printable(scores.fallback) + '\n';
  return out + format("\nreward {:.3f} ({}, {} to {}): {}\n", reward.value, info(kind).name, info(kind).least,
                      info(kind).most, printable(reward.why));
}

Result<int> run_rubric(const RubricCommand& command, Console& console) {
  if (command.before.empty() != command.feedback.empty())
    return user_error("rubric", "--before and --feedback go together",
                      "give both the program before the change and the feedback, or neither");
  if (command.judge != "builtin" && !command.judge.starts_with("llm:"))
    return user_error("judge", format("unknown judge '{}'", command.judge),
                      "builtin, or llm:PROFILE[/MODEL]");
  STITCH_TRY(rubric::RewardKind kind, rubric::parse_reward(command.reward));
  STITCH_TRY(std::vector<rubric::Source> sources, rubric::read_sources(command.program));
  STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
  Warnings warnings(console);
  STITCH_TRY(Runs runs, runs_of(command, gpu, console, warnings));
  STITCH_TRY(std::unique_ptr<rubric::Before> before, before_of(command, std::move(runs.before)));
  rubric::Evidence evidence = rubric::gather(sources, std::move(runs.after),
                                             rubric::operators_of(runs.task->graph, gpu), before.get());
  evidence.task = runs.task->graph.name;
  STITCH_TRY(rubric::Scores scores, judged(command, evidence, console));
  const rubric::Reward reward = rubric::reward(kind, evidence.run, scores, evidence.skill,
                                               evidence.change ? &evidence.change->before_run : nullptr);
  if (!console.json) {
    console.out << scores_text(scores, reward, kind, console.out_terminal);
    if (const rubric::Labelled labelled = rubric::hack_label(evidence);
        labelled.label != rubric::HackLabel::none)
      console.out << format("label {}: {}\n", name(labelled.label), printable(labelled.why));
    return 0;
  }
  Json document = {{"program", command.program}, {"task", command.task}, {"skill", name(evidence.skill)}};
  document["scores"] = to_json(scores);
  document["reward"] = to_json(reward);
  document["reward"]["kind"] = info(kind).name;
  const rubric::Labelled labelled = rubric::hack_label(evidence);
  document["honesty"] = name(labelled.label);
  document["honesty_why"] = labelled.why;
  document["evidence"] = to_json(evidence);
  warnings.add_to(document);
  console.out << document_text(document);
  return 0;
}

}  // namespace

Run add_rubric(CLI::App& app) {
  const auto rubric = std::make_shared<RubricCommand>();
  Flags flags(app, "rubric", "Score a program by the rubric and compute its reward, with reasons");
  flags("PROGRAM", rubric->program, "a program folder, a .cu file, or a .py file with ModelNew").required();
  flags("--task", rubric->task, "MODEL", "what it must compute: a .py file or a graph folder").required();
  flags("--before", rubric->before, "PROGRAM", "the program before the change; with --feedback");
  flags("--feedback", rubric->feedback, "FILE",
        "the feedback that led to the change: text, or JSON with bottleneck and suggestion");
  flags("--judge", rubric->judge, "JUDGE", "builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  flags("--reward", rubric->reward, "NAME",
        "combined, paper, milestones, rule or rubric (default: combined; see docs/rubric.md)");
  flags("--verdict", rubric->verdict, "FILE", "a verdict that verify -o wrote, instead of verifying now");
  flags("--before-verdict", rubric->before_verdict, "FILE", "verdict of the program before the change");
  flags("!--no-verify", rubric->verify, "score the code alone: nothing is built or run");
  flags.numerics(rubric->numerics);
  flags.device(rubric->device);
  flags.baselines(rubric->baselines, " (default: all on a GPU)");
  flags.gpu(rubric->gpu, "the GPU to estimate operator times for");
  flags("--quick", rubric->quick, "verify with two seeds and one set of weights");
  flags("--config", rubric->config, "FILE",
        "file with LLM profiles (default: ./stitchcuda.toml, then the user's config.toml)");
  flags("--prompts", rubric->prompts, "FOLDER", "a folder of your own prompts (see stitchcuda prompts)");
  flags.task(rubric->task_options, "the task's class");
  flags.json();
  flags.examples(
      "stitchcuda rubric program/ --task model.py\n"
      "stitchcuda rubric model_new.py --task model.py --verdict verdict.json --json\n"
      "stitchcuda rubric after.cu --task model.py --before before.cu --feedback feedback.txt\n"
      "stitchcuda rubric program/ --task model.py --judge llm:ollama/qwen2.5-coder --reward paper");
  return [rubric](Console& console) { return run_rubric(*rubric, console); };
}

}  // namespace stitch
