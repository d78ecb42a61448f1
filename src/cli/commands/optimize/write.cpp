#include "cli/commands/optimize/write.h"

#include <nlohmann/json.hpp>

#include "agents/candidate.h"
#include "agents/loop/time_spent.h"
#include "base/machine/interrupt.h"
#include "base/machine/time_account.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/choose_device.h"
#include "cli/choose_gpu.h"
#include "cli/commands/judge/baselines.h"
#include "cli/flags/model_options.h"
#include "cli/output_place.h"

namespace stitch {

namespace {

Result<agents::CandidateOptions> candidate_options(const WriteCommand& command) {
  agents::CandidateOptions out;
  out.model = command.model;
  out.coder = command.coder;
  out.verifier = command.verifier;
  out.tries = command.tries;
  out.budget = std::chrono::seconds(command.budget);
  STITCH_TRY(out.form, agents::parse_candidate_form(command.form));
  STITCH_TRY(out.setup.numerics, parse_numerics(command.numerics));
  STITCH_TRY(out.setup.device, choose_device(command.device));
  STITCH_TRY(out.gpu, choose_gpu(command.gpu));
  const bool timed = out.setup.device == runner::Device::cuda && !command.no_timing;
  STITCH_TRY(out.setup.baselines, baselines_named(command.baselines != "auto" ? command.baselines
                                                  : timed                     ? "all"
                                                                              : "none"));
  out.setup.timing = timed;
  out.setup.quick = command.quick;
  out.task = {.model_class = command.model_class, .mode = command.mode, .python = command.python};
  out.llm.config = command.config;
  if (command.max_tokens > 0) out.llm.budget.tokens = command.max_tokens;
  if (command.max_dollars > 0) out.llm.budget.dollars = command.max_dollars;
  out.llm.record = command.record;
  out.llm.replay = command.replay;
  out.llm.prompts = command.prompts;
  out.llm.notes = command.notes;
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

}  // namespace

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
    options.setup.on_progress = [&](std::string_view text) { progress.detail(text); };
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

}  // namespace stitch
