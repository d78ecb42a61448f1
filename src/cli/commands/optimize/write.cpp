// stitchcuda write: a language model writes a whole candidate for a task, judged and improved by feedback.
#include <nlohmann/json.hpp>

#include "agents/candidate.h"
#include "agents/loop/measured_gain.h"
#include "base/machine/interrupt.h"
#include "base/machine/time_account.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "graph/mode.h"

namespace stitch {

namespace {

struct WriteCommand : JudgingFlags, LlmFlags {
  std::string model, out;
  bool force = false;
  std::string coder, verifier = "builtin";
  std::string form = "model-new";
  int tries = 4;
  int budget = 600;  // seconds
  std::string gpu;
  TaskOptions task_options;
};

Result<agents::CandidateOptions> candidate_options(const WriteCommand& command) {
  agents::CandidateOptions out;
  out.model = command.model;
  out.coder = command.coder;
  out.verifier = command.verifier;
  out.tries = command.tries;
  out.budget = std::chrono::seconds(command.budget);
  STITCH_TRY(out.form, agents::parse_candidate_form(command.form));
  STITCH_TRY(const runner::Device device, choose_device(command.device));
  STITCH_CHECK(read_judging(command, device, "all", out.verify));
  out.verify.timing = out.verify.timing && device == runner::Device::cuda;
  STITCH_TRY(out.gpu, choose_gpu(command.gpu));
  out.task = command.task_options;
  out.llm = llm_options(command);
  return out;
}

Json written_document(const agents::WrittenCandidate& written, agents::CandidateForm form) {
  Json out = {{"author", written.author}, {"form", agents::name(form)}, {"tries", Json::array()}};
  if (!written.ended.empty()) out["ended"] = written.ended;
  for (size_t i = 0; i < written.tries.size(); ++i) {
    const agents::CandidateTry& each = written.tries[i];
    Json one = {{"outcome", agents::name(each.outcome)}, {"seconds_a_call", each.seconds}};
    if (!each.why.empty()) one["reason"] = each.why;
    if (each.verdict) one["verdict"] = to_json(*each.verdict);
    one["best"] = static_cast<int>(i) == written.best;
    out["tries"].push_back(std::move(one));
  }
  if (written.llm) out["llm"] = *written.llm;
  return out;
}

// The output folder, written anew after each try: the best one so far under its own name, and every try with
// its verdict, also the failed ones.
class Kept {
 public:
  Kept(const WriteCommand& command, agents::CandidateForm form)
      : place_{.folder = command.out}, overwrite_(overwrite_if(command.force)), form_(form) {}

  Result<void> keep(const agents::WrittenCandidate& written, const Json& document) {
    STITCH_TRY(Published now, publish(written, document));
    place_.folder = std::move(now.folder);  // it may be the one beside
    if (place_.beside.empty()) place_.beside = std::move(now.beside);
    place_.saved.insert(place_.saved.end(), now.saved.begin(), now.saved.end());
    overwrite_ = Overwrite::force;  // what this run wrote
    return {};
  }
  const Published& place() const { return place_; }

 private:
  Result<Published> publish(const agents::WrittenCandidate& written, const Json& document) const {
    STITCH_TRY(OutputFolder folder, OutputFolder::create(place_.folder, overwrite_));
    const std::string file = agents::file_name(form_);
    if (written.best >= 0)
      STITCH_CHECK(write_file(folder.path() / file, written.tries[static_cast<size_t>(written.best)].source));
    for (size_t i = 0; i < written.tries.size(); ++i) {
      const agents::CandidateTry& each = written.tries[i];
      const fs::path place = folder.path() / "tries" / format("{}", i + 1);
      fs::create_directories(place);
      if (!each.source.empty()) STITCH_CHECK(write_file(place / file, each.source));
      if (each.verdict)
        STITCH_CHECK(write_file(place / "verdict.json", document_text(to_json(*each.verdict))));
    }
    STITCH_CHECK(write_file(folder.path() / "written.json", document_text(document)));
    return folder.publish();
  }

  Published place_;
  Overwrite overwrite_;
  agents::CandidateForm form_;
};

std::string tries_table(const agents::WrittenCandidate& written, const Terminal& terminal) {
  Table rows({{.header = "try", .align = Column::Align::right},
              {.header = "a call", .align = Column::Align::right},
              {.header = ""},
              {.header = "", .least = 20, .optional = 1}});
  for (size_t i = 0; i < written.tries.size(); ++i) {
    const agents::CandidateTry& each = written.tries[i];
    const bool best = static_cast<int>(i) == written.best;
    rows.add_row(
        {format("{}", i + 1),
         each.seconds > 0 ? seconds_text(each.seconds) : "–",
         {best ? "best" : std::string(agents::name(each.outcome)), best ? Style::good : Style::warning},
         {printable(each.why), Style::dim}});
  }
  return rows.render(terminal);
}

std::string said_of_best(const agents::WrittenCandidate& written, agents::CandidateForm form) {
  if (written.best < 0) return "no try passed the gates; all are in tries/";
  const bool wholly = written.tries[static_cast<size_t>(written.best)].wholly;
  return format("{} passed {}", agents::file_name(form), wholly ? "every gate" : "the quick checks");
}

Result<int> run_write(const WriteCommand& command, Console& console) {
  STITCH_CHECK(check_task_file(command.model));
  STITCH_CHECK(OutputFolder::check(command.out, overwrite_if(command.force)));
  STITCH_TRY(agents::CandidateOptions options, candidate_options(command));
  StopPolitely polite;
  options.should_stop = stop_requested;
  Warnings warnings(console);
  Kept kept(command, options.form);
  options.keep = [&](const agents::WrittenCandidate& so_far) {
    return kept.keep(so_far, written_document(so_far, options.form));
  };
  const TimeAccount::Entries spent_before = TimeAccount::all();
  const SpentOn spent("write", TimeAccount::Kind::detail);
  Result<agents::WrittenCandidate> written = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "writing");
    options.verify.on_progress = [&](std::string_view text) { progress.detail(text); };
    options.on_warning = warnings.above(progress);
    written = agents::write_candidate(options);
  }
  if (!written) return std::move(written).error();
  Json document = written_document(*written, options.form);
  document["time"] = agents::time_spent(TimeAccount::since(spent_before), spent.seconds());
  warnings.add_to(document);
  STITCH_CHECK(kept.keep(*written, document));
  const Published& published = kept.place();
  add_place(document, "folder", published, command.out);
  if (console.json) {
    console.out << document_text(document);
  } else {
    console.out << tries_table(*written, console.out_terminal) << '\n';
    if (written->best >= 0)
      console.out << table(*written->tries[static_cast<size_t>(written->best)].verdict, console.out_terminal);
    console.out << said_of(published, command.out)
                << format("{}: {}\n", place_of(published, command.out), said_of_best(*written, options.form));
    if (!written->ended.empty())
      console.out << format("{} of {} {} made: {}\n", counted(std::ssize(written->tries), "try", "tries"),
                            options.tries, written->tries.size() == 1 ? "was" : "were",
                            printable(written->ended));
    if (const std::string time = agents::time_text(document["time"]); !time.empty())
      console.out << format("time: {}\n", time);
  }
  return written->best >= 0 ? 0 : 1;
}

}  // namespace

Run add_write(CLI::App& app) {
  const auto write = std::make_shared<WriteCommand>();
  Flags flags(app, "write",
              "Let a language model write a whole candidate, verify it and improve it from the feedback");
  flags("MODEL", write->model, "a .py file with Model, get_inputs() and get_init_inputs()").required();
  flags("-o,--out", write->out, "FOLDER", "the output folder: the best candidate and all tries").required();
  flags("--coder", write->coder, "BRAIN", "the language model: llm:PROFILE[/MODEL]").required();
  flags("--verifier", write->verifier, "BRAIN",
        "who explains failed gates: builtin, or llm:PROFILE[/MODEL] (default: builtin)");
  flags("--form", write->form, "FORM",
        "model-new: Python with ModelNew, as in KernelBench; program: one CUDA source with the program's C "
        "interface (default: model-new)");
  flags("--tries", write->tries, "NUMBER", "maximum number of tries (default: 4)").between(1, 1000);
  flags("--budget", write->budget, "SECONDS",
        "seconds after which the model is asked no more; what it wrote is judged all the same (default: 600)")
      .between(1, 86400);
  flags.numerics(write->numerics);
  flags.device(write->device);
  flags.gpu(write->gpu, "the GPU to write it for");
  flags.baselines(write->baselines);
  flags("--no-timing", write->no_timing, "verify without timing; keep the first candidate that passes");
  flags("--quick", write->quick, "check the best candidate with two seeds and fewer gates");
  add_llm(flags, *write, "over all models");
  add_transcripts(flags, *write);
  flags.task(write->task_options);
  flags.force(write->force);
  flags.json();
  flags.examples(
      "stitchcuda write task.py -o candidate/ --coder llm:ollama/qwen2.5-coder\n"
      "stitchcuda write task.py -o candidate/ --coder llm:openai/gpt-5-mini --form program --tries 8");
  return [write](Console& console) { return run_write(*write, console); };
}

}  // namespace stitch
