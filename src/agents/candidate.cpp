#include "agents/candidate.h"

#include <nlohmann/json.hpp>

#include "agents/llm/region_brief.h"
#include "agents/loop/loop.h"
#include "base/contained.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "code/write_program.h"
#include "graph/text.h"
#include "llm/answers.h"
#include "notes/note.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

constexpr size_t most_notes = 5;

std::string candidate_notes(const LlmBrain& brain, const Graph& graph, const GpuSpec& gpu) {
  std::string question, out;
  for (const Node& node : graph.nodes) question += std::string(info(node.op).name) + " ";
  auto within = notes::architecture_named(gpu.architecture.name);
  for (const notes::Hit& hit :
       notes::search(*brain.notes, question, most_notes, within ? *within : std::string()))
    out += format("### {}\nWhen: {}\n{}\n", hit.note->title, hit.note->when, hit.note->body);
  return out.empty() ? "none\n" : out;
}

class CandidateWriter {
 public:
  CandidateWriter(const CandidateOptions& options, const Task& task, LlmBrain brain, Verifier& gates,
                  fs::path scratch)
      : options_(options),
        brain_(std::move(brain)),
        gates_(gates),
        scratch_(std::move(scratch)),
        context_(task.graph, options.gpu, options.verify.numerics),
        task_(task) {}

  Result<WrittenCandidate> run() {
    STITCH_CHECK(describe_task());
    out_.author = brain_.author;
    while (std::ssize(out_.tries) < options_.tries && !ended()) {
      auto source = contained([&] { return ask(); });
      if (!source && outcome_of(source.error()) != Outcome::no_answer) {
        if (out_.tries.empty() && ended() && !interrupted())
          return work_error("budget", out_.ended + " before the model's first answer",
                            "a larger --budget, or a faster model");
        if (out_.tries.empty()) return std::move(source).error();
        if (!ended()) out_.ended = source.error().message;
        break;
      }
      out_.tries.push_back(source ? CandidateTry{.source = *std::move(source),
                                                 .outcome = Outcome::not_tried,
                                                 .why = "not judged yet"}
                                  : CandidateTry{.why = source.error().message});
      CandidateTry& one = out_.tries.back();
      if (!one.source.empty()) {
        STITCH_CHECK(keep());
        one = judge(one.source, Judging::quickly);
      }
      look_back();
      STITCH_CHECK(keep());
      if (out_.best >= 0 && !options_.verify.timing) break;  // passed, and nothing is timed
    }
    judge_wholly();
    STITCH_CHECK(keep());
    return std::move(out_);
  }

 private:
  bool interrupted() const { return options_.should_stop && options_.should_stop(); }
  // Whether the model may not be asked any more.
  bool ended() {
    if (interrupted())
      out_.ended = "interrupted";
    else if (llm::Clock::now() >= deadline_)
      out_.ended = format("the budget of {} s was spent", options_.budget.count());
    return !out_.ended.empty();
  }
  Result<void> keep() const { return options_.keep ? options_.keep(out_) : Result<void>(); }

  Result<void> describe_task() {
    values_ = {{"hardware", hardware_text(options_.gpu)},
               {"numerics", numerics_text(options_.verify.numerics)},
               {"notes", candidate_notes(brain_, task_.graph, options_.gpu)}};
    STITCH_TRY(values_["task"], read_file(options_.model));
    if (options_.form == CandidateForm::model_new) return {};
    values_["graph"] = print_graph(task_.graph);
    STITCH_TRY(const fs::path files, find_program_files());
    STITCH_TRY(values_["abi"], read_file(files / "include" / "stitch" / "program.h"));
    STITCH_TRY(values_["manifest"], manifest_to_hold(context_));
    return {};
  }

  Result<std::string> ask() {
    const bool python = options_.form == CandidateForm::model_new;
    values_["siblings"] = siblings();
    values_["feedback"] = feedback_.empty() ? "none: this is the first try\n" : feedback_;
    STITCH_TRY(std::string text, brain_.prompts(python ? "coder_model_new" : "coder_program", values_));
    if (brain_.on_progress)
      brain_.on_progress(
          format("{} writes try {} of {}", brain_.author, out_.tries.size() + 1, options_.tries));
    llm::AskOptions limits;
    limits.should_stop = [this] { return interrupted(); };
    limits.deadline = deadline_;
    STITCH_TRY(llm::CodeAnswer answer,
               llm::ask_code(*brain_.chat, {.messages = {llm::user_message(std::move(text))}},
                             python ? "ModelNew" : "stitch_run", limits, {},
                             python ? llm::Language::python : llm::Language::cuda));
    return std::move(answer.source);
  }

  CandidateTry judge(std::string source, Judging judging) {
    CandidateTry out{.source = std::move(source), .outcome = Outcome::better};
    const fs::path folder = scratch_ / format("try{}", judged_++);
    const fs::path file = folder / file_name(options_.form);
    auto verdict = contained([&]() -> Result<verifier::Verdict> {
      fs::create_directories(folder);
      STITCH_CHECK(write_file(file, out.source));
      return gates_.judge(file, judging, [this] { return interrupted(); });
    });
    if (!verdict) {
      out.outcome = outcome_of(verdict.error());
      out.why = verdict.error().message;
      return out;
    }
    if (const verifier::GateReport* failure = verdict->failure()) {
      out.outcome = outcome_of(*failure);
      out.why = failure->gate + ": " + failure->summary;
    } else {
      out.seconds = seconds_of(*verdict, 0);
    }
    out.verdict = *std::move(verdict);
    out.wholly = judging == Judging::as_shipped && !options_.verify.quick;
    return out;
  }

  // The fastest that is right, and what the Verifier says of the newest.
  void look_back() {
    CandidateTry& last = out_.tries.back();
    const CandidateTry* best = out_.best < 0 ? nullptr : &out_.tries[static_cast<size_t>(out_.best)];
    if (last.outcome == Outcome::better) {
      if (!best || last.seconds < best->seconds)
        out_.best = static_cast<int>(std::ssize(out_.tries)) - 1;
      else
        last.outcome = Outcome::not_better;
    }
    Feedback said{.outcome = last.outcome, .report = std::nullopt, .suggestion = last.why};
    if (last.verdict) {
      // Of what is right, the profile's bottleneck, whether it is the best so far or not.
      const Outcome asked = last.outcome == Outcome::better ? Outcome::not_better : last.outcome;
      auto explained = contained([&] { return gates_.explain(asked, *last.verdict, ""); });
      if (explained) said = *std::move(explained);
      said.outcome = last.outcome;
    }
    feedback_ = feedback_text(said);
  }

  std::string siblings() const {
    if (out_.tries.empty()) return "none\n";
    std::string text;
    for (size_t i = 0; i < out_.tries.size(); ++i) {
      const CandidateTry& each = out_.tries[i];
      text += format("- try {}: {}", i + 1, name(each.outcome));
      if (each.seconds > 0) text += format(", {} a call", seconds_text(each.seconds));
      if (!each.why.empty()) text += format(" ({})", shorten(printable(each.why), 200));
      text += '\n';
    }
    // To start from: the fastest that is right, else the newest.
    const size_t base = out_.best >= 0 ? static_cast<size_t>(out_.best) : out_.tries.size() - 1;
    if (!out_.tries[base].source.empty())
      text += llm::quoted(format("source of try {}", base + 1), out_.tries[base].source,
                          options_.form == CandidateForm::model_new ? "python" : "cuda", 60000);
    return text;
  }

  // Through every gate, with the baselines timed; if the best one fails there, the next best is judged.
  void judge_wholly() {
    while (out_.best >= 0) {
      CandidateTry& best = out_.tries[static_cast<size_t>(out_.best)];
      if (interrupted()) return;
      CandidateTry whole = judge(best.source, Judging::as_shipped);
      if (!whole.verdict) return;  // the machine's fault: the quick verdict is kept
      best = std::move(whole);
      if (best.verdict->passed()) return;
      out_.best = -1;
      for (int i = 0; i < std::ssize(out_.tries); ++i) {
        const CandidateTry& each = out_.tries[static_cast<size_t>(i)];
        if (!each.verdict || !each.verdict->passed()) continue;
        if (out_.best < 0 || each.seconds < out_.tries[static_cast<size_t>(out_.best)].seconds) out_.best = i;
      }
    }
  }

  const CandidateOptions& options_;
  const LlmBrain brain_;
  Verifier& gates_;
  const fs::path scratch_;
  const plan::Context context_;
  const Task& task_;
  const llm::Clock::time_point deadline_ = llm::Clock::now() + options_.budget;
  PromptValues values_;
  std::string feedback_;
  WrittenCandidate out_;
  int judged_ = 0;
};

}  // namespace

std::string_view name(CandidateForm form) {
  return form == CandidateForm::model_new ? "model-new" : "program";
}

Result<CandidateForm> parse_candidate_form(std::string_view text) {
  for (CandidateForm form : {CandidateForm::model_new, CandidateForm::program})
    if (text == name(form)) return form;
  return user_error("form", format("unknown form '{}'", text), "model-new or program");
}

Result<std::string> manifest_to_hold(const plan::Context& context) {
  STITCH_TRY(plan::Plan plain, plan::first_plan(context, code::catalogue()));
  STITCH_TRY(PackageContents contents, code::write_program(context, plain));
  Manifest manifest = contents.manifest;
  manifest.regions.clear();
  manifest.settings.clear();
  return format("R\"manifest({})manifest\"", trim(print_manifest(manifest)));
}

std::string file_name(CandidateForm form) {
  return form == CandidateForm::model_new ? "model_new.py" : "program.cu";
}

Result<WrittenCandidate> write_candidate(const CandidateOptions& options) {
  if (!is_llm(options.coder))
    return user_error(
        "brain", format("'{}' can't write whole candidates", options.coder),
        "--coder llm:PROFILE[/MODEL]: stitchcuda llm list shows the profiles; the built-in engine "
        "is stitchcuda optimize");
  STITCH_TRY(std::shared_ptr<LlmSession> session, LlmSession::open(options.llm, options.verify.on_progress));
  STITCH_CHECK(check_brains({.coder = options.coder, .verifier = options.verifier}, session.get()));
  STITCH_TRY(LlmBrain brain, session->brain(options.coder, llm::Agent::coder));
  auto timed = [](const char* phase, auto&& work) {
    const SpentOn spent(phase, TimeAccount::Kind::phase);
    return work();
  };
  TaskOptions how = options.task;
  how.limits = code::limits_on(options.gpu);
  STITCH_TRY(verifier::OpenedTask opened, timed("import", [&] {
               return verifier::open_task_to_judge(options.model, how, options.verify.on_progress);
             }));
  const std::shared_ptr<const Task> task = opened.task;
  STITCH_TRY(std::unique_ptr<verifier::Verifier> verifier, timed("open the reference", [&] {
               return verifier::Verifier::open(std::move(opened), {.numerics = options.verify.numerics,
                                                                   .device = options.verify.device,
                                                                   .on_warning = options.on_warning});
             }));
  STITCH_TRY(
      std::unique_ptr<Verifier> gates,
      make_verifier({.verifier = options.verifier}, std::move(verifier), options.verify, session.get()));
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-write"));
  auto out = CandidateWriter(options, *task, std::move(brain), *gates, scratch.path()).run();
  if (out) out->llm = std::make_shared<const Json>(session->account().to_json());
  return out;
}

}  // namespace stitch::agents
