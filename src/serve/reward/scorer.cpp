#include "serve/reward/scorer.h"

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/contained.h"
#include "base/digest/sha256.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "code/limits.h"
#include "code/written.h"
#include "gpu/gpu_detect.h"
#include "graph/folder.h"
#include "profile/rules.h"
#include "program/program_text.h"
#include "rubric/code_facts.h"
#include "verify/clock/clock.h"
#include "verify/gates/gates.h"
#include "verify/many/label.h"
#include "verify/measured.h"
#include "verify/not_judged.h"

namespace stitch::serve {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t most_remembered = 256;   // verdicts, for candidates that improve on one
constexpr size_t longest_details = 2000;  // characters
constexpr size_t longest_reason = 500;

std::string cut_to(std::string text, size_t most) {
  if (text.size() > most) text = text.substr(0, most) + " …";
  return text;
}

// Has the machine to itself from the timing gate on, until the next one.
class ClockTurn {
 public:
  explicit ClockTurn(std::shared_mutex& clock) : clock_(clock) {}
  ClockTurn(const ClockTurn&) = delete;
  ClockTurn& operator=(const ClockTurn&) = delete;
  ~ClockTurn() { end(); }
  // A gate's own name is what it says first.
  void hear(std::string_view doing) {
    for (const verifier::Gate& gate : verifier::all_gates()) {
      if (gate.name != doing) continue;
      if (gate.id == verifier::GateId::timing && !mine_) {
        clock_.lock();
        mine_ = true;
      } else if (gate.id != verifier::GateId::timing) {
        end();
      }
    }
  }

 private:
  void end() {
    if (std::exchange(mine_, false)) clock_.unlock();
  }
  std::shared_mutex& clock_;
  bool mine_ = false;
};

// A candidate's own folder, gone with the object.
class OwnFolder {
 public:
  explicit OwnFolder(fs::path path) : path_(std::move(path)) {}
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

 private:
  const fs::path path_;
};

Json no_code(const std::string& why) {
  return {{"verdict", "failed"}, {"gate", "build"}, {"code", "no_code"}, {"reason", why}};
}

// What the compiler and the linker say is about the source alone. Once a candidate has run it has seen what
// it was asked: its messages, and numbers that it computed, would tell the questions to its author, and so to
// the next candidate. Of those the answer has the failure's code, in our words.
bool has_not_run(verifier::GateId gate) { return gate < verifier::GateId::load; }

std::string reason_for_author(const verifier::GateReport& failure) {
  return has_not_run(failure.id) ? failure.summary : std::string(verifier::label_of(failure).text);
}

std::string details_for_author(const verifier::GateReport& failure) {
  if (!has_not_run(failure.id) || !failure.evidence || !failure.evidence->is_object()) return "";
  return cut_to(word(*failure.evidence, "details"), longest_details);
}

// What of a verdict goes to a trainer.
Json in_short(const Json& verdict) {
  Json out = Json::object();
  for (const char* field : {"verdict", "gate", "code", "device", "trust", "reason", "details"})
    if (verdict.contains(field)) out[field] = verdict[field];
  Json gates = Json::array();
  for (const Json& gate : verdict.value("gates", Json::array()))
    if (word(gate, "summary") != verifier::not_reached)
      gates.push_back({{"gate", gate["gate"]}, {"outcome", gate["outcome"]}});
  out["gates"] = std::move(gates);
  if (verdict.contains("notes") && !verdict["notes"].empty()) out["notes"] = verdict["notes"];
  if (verdict.contains("timing")) {
    const Json& timing = verdict["timing"];
    for (const char* field : {"speedup", "best_baseline", "floor_seconds"})
      if (timing.contains(field)) out[field] = timing[field];
    out["seconds_a_call"] = timing.value("program", Json::object()).value("seconds", 0.0);
  }
  return out;
}

// Its process did not end as it should.
bool died(const verifier::Verdict& verdict) {
  const verifier::GateReport* failure = verdict.failure();
  if (!failure) return false;
  for (runner::FailureKind kind : {runner::FailureKind::crashed, runner::FailureKind::out_of_memory,
                                   runner::FailureKind::killed, runner::FailureKind::forbidden,
                                   runner::FailureKind::left_early, runner::FailureKind::broken_protocol})
    if (failure->code == runner::name(kind)) return true;
  return false;
}

rubric::Source empty_source(const Code& code) {
  const bool cuda = code.language == llm::Language::cuda;
  return {cuda ? "candidate.cu" : "candidate.py", cuda ? rubric::Language::cuda : rubric::Language::python,
          ""};
}

double seconds_of_gates(const Json& verdict, bool build) {
  double out = 0;
  for (const Json& gate : verdict.value("gates", Json::array()))
    if ((word(gate, "gate") == "build") == build) out += gate.value("seconds", 0.0);
  return out;
}

bool has_entry_points(const Code& code) { return code.text.find("stitch_run") != std::string::npos; }

}  // namespace

std::string feedback_of(const verifier::Verdict& verdict) {
  if (const verifier::GateReport* failure = verdict.failure()) {
    std::string out = format("{}: {}", failure->gate, reason_for_author(*failure));
    if (const std::string details = details_for_author(*failure); !details.empty()) out += '\n' + details;
    return out;
  }
  const verifier::Profile profile = verifier::profile_of(verdict);
  if (profile.diagnosis) return profile::text(*profile.diagnosis);
  return "It is correct.";
}

VerifyingScorer::VerifyingScorer(ScorerOptions options)
    : options_(std::move(options)), open_(options_.most_open) {
  if (auto made = ScratchFolder::create("stitchcuda-score")) scratch_.emplace(*std::move(made));
}

verifier::VerifyOptions VerifyingScorer::verify_options() const {
  const Judging& judging = options_.judging;
  verifier::VerifyOptions out = judging;
  // The rubric counts what ran. On a GPU a process that starts CUDA once more is half of what a quick look
  // takes.
  out.profile = !judging.quick || judging.timing || judging.device == runner::Device::emulated;
  out.remember_trials = true;
  return out;
}

// A folder for each: two may have the same code at the same time.
Result<fs::path> VerifyingScorer::written(const Code& code) {
  static std::atomic<uint64_t> next = 0;
  if (!scratch_) return work_error("file", "no temporary folder can be created");
  const fs::path folder = scratch_->path() / std::to_string(next++);
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (is_several_files(code.text)) {
    STITCH_TRY(const SourceFiles files, files_of_text(code.text));
    fs::create_directories(folder / "candidate" / "regions", failed);
    for (const auto& [path, text] : files) STITCH_CHECK(write_file(folder / "candidate" / path, text));
    return folder / "candidate";
  }
  const fs::path file = folder / (code.language == llm::Language::cuda ? "candidate.cu" : "candidate.py");
  STITCH_CHECK(write_file(file, code.text));
  return file;
}

void VerifyingScorer::build(const Submission& submission) {
  const Code& code = submission.code;
  if (code.language != llm::Language::cuda || !code.missing.empty() || !has_entry_points(code)) return;
  auto file = written(code);
  if (!file) return;
  const OwnFolder own(file->parent_path());
  std::optional<GpuSpec> gpu;
  if (auto driver = detect_gpus(); driver && !driver->gpus.empty()) gpu = spec_of(driver->gpus[0]);
  verifier::VerifyOptions options = verify_options();
  options.program = *file;
  std::shared_lock no_clock(clock_);
  try {
    verifier::build_ahead(options, gpu);
  } catch (const std::exception&) {  // the gate finds it again, and reports it
  }
}

Code VerifyingScorer::completed(const OpenTask& open, Code code) const {
  if (code.language != llm::Language::cuda || code.text.empty() || has_entry_points(code)) return code;
  const plan::Context context(open.verifier->task().graph, options_.gpu, options_.judging.numerics);
  const auto function = code::function_of_whole(context);
  if (!function || code.text.find(*function) == std::string::npos) return code;
  auto program = code::program_of_whole(context, code.text);
  if (program)
    code.text = program_text(program->sources);
  else
    code.missing = program.error().text();
  return code;
}

VerifyingScorer::Judged VerifyingScorer::judge(OpenTask& open, const Code& code) {
  if (!code.missing.empty())
    return {std::make_shared<const Json>(no_code(code.missing)), "build: " + code.missing, {}};
  auto file = written(code);
  if (!file) return {nullptr, "", file.error()};
  const OwnFolder own(file->parent_path());
  verifier::VerifyOptions options = verify_options();
  options.program = *file;
  options.seed = open.seed;
  options.more_to_come = true;
  ClockTurn clock(clock_);
  if (options_.judging.timed()) options.on_progress = [&](std::string_view text) { clock.hear(text); };
  auto judge_once = [&] { return contained([&] { return open.verifier->judge(options); }); };
  auto judged = [&] {
    return options.device == runner::Device::cuda ? side_by_side_.judge(judge_once) : judge_once();
  };
  auto verdict = judged();
  // An earlier candidate in the same process may be the cause.
  if (verdict && options.shared_process && died(*verdict)) {
    options.shared_process = false;
    verdict = judged();
  }
  if (!verdict) return {nullptr, "", verdict.error()};
  Json told = to_json(*verdict);
  if (const verifier::GateReport* failure = verdict->failure()) {
    told["reason"] = cut_to(reason_for_author(*failure), longest_reason);
    if (std::string details = details_for_author(*failure); !details.empty())
      told["details"] = std::move(details);
  }
  return {std::make_shared<const Json>(std::move(told)), feedback_of(*verdict), {}};
}

Result<rubric::Execution> VerifyingScorer::run_before(OpenTask& open, const Code& code) {
  const std::string name = open.hash + sha256(code.text);
  {
    std::lock_guard hold(mutex_);
    for (auto at = remembered_.begin(); at != remembered_.end(); ++at)
      if (at->first == name) {
        remembered_.splice(remembered_.begin(), remembered_, at);  // a group of answers has the same one
        return at->second;
      }
  }
  const Judged judged = judge(open, code);
  if (!judged.verdict) return *judged.trouble;
  STITCH_TRY(rubric::Execution run, rubric::execution_of(*judged.verdict));
  remember(open, code, run);
  return run;
}

void VerifyingScorer::remember(const OpenTask& open, const Code& code, const rubric::Execution& run) {
  std::lock_guard hold(mutex_);
  remembered_.emplace_front(open.hash + sha256(code.text), run);
  if (remembered_.size() > most_remembered) remembered_.pop_back();
}

Json VerifyingScorer::not_judged(const TaskFile& task, const Error& error) const {
  Json out = {
      {"task", task.name}, {"reward", 0.0}, {"counted", false}, {"label", std::string(verifier::not_judged)}};
  out["components"] = Json::object();
  out["verdict"] = {{"verdict", verifier::not_judged}, {"code", error.code}, {"reason", error.message}};
  out["feedback"] = "";
  return out;
}

Result<Json> VerifyingScorer::scored(OpenTask& open, const TaskFile& task, const Submission& sent) {
  Submission submission = sent;
  submission.code = completed(open, std::move(submission.code));
  submission.before = completed(open, std::move(submission.before));
  const Judged own = judge(open, submission.code);
  if (!own.verdict) return *own.trouble;
  auto sources_of = [&](const Code& code) -> Result<std::vector<rubric::Source>> {
    if (!code.missing.empty()) return std::vector{empty_source(code)};
    STITCH_TRY(fs::path file, written(code));
    const OwnFolder folder(file.parent_path());
    return rubric::read_sources(file);
  };
  STITCH_TRY(rubric::Execution run, rubric::execution_of(*own.verdict));
  remember(open, submission.code, run);
  STITCH_TRY(std::vector<rubric::Source> sources, sources_of(submission.code));
  std::optional<rubric::Before> before;
  if (submission.from_feedback()) {
    STITCH_TRY(std::vector<rubric::Source> old_sources, sources_of(submission.before));
    STITCH_TRY(rubric::Execution old_run, run_before(open, submission.before));
    before.emplace(rubric::Before{std::move(old_sources), std::move(old_run), submission.feedback});
  }
  rubric::Evidence evidence =
      rubric::gather(sources, std::move(run), rubric::operators_of(open.verifier->task().graph, options_.gpu),
                     before ? &*before : nullptr);
  evidence.task = task.name;
  const rubric::Scores scores = rubric::judge(evidence);
  const rubric::Reward reward = rubric::reward(options_.judging.reward, evidence.run, scores, evidence.skill,
                                               evidence.change ? &evidence.change->before_run : nullptr);
  Json components = {{"kind", info(options_.judging.reward).name},
                     {"rule", reward.rule},
                     {"rubric_factor", reward.factor},
                     {"total", scores.total()},
                     {"skill", name(evidence.skill)}};
  for (rubric::Dimension each : rubric::all_dimensions)
    components[std::string(name(each))] = scores[each].score;
  if (evidence.run.speedup) components["speedup"] = *evidence.run.speedup;
  Json out = {{"task", task.name},
              {"reward", reward.value},
              {"counted", reward.counted},
              {"label", reward.label},
              {"reason", cut_to(reward.why, longest_reason)},
              {"components", std::move(components)},
              {"verdict", in_short(*own.verdict)},
              {"feedback", cut_to(own.feedback, 2 * longest_details)}};
  out["seconds"] = {{"build", seconds_of_gates(*own.verdict, true)},
                    {"run", seconds_of_gates(*own.verdict, false)}};
  return out;
}

Json VerifyingScorer::score(const TaskFile& task, const Submission& submission) {
  const auto begin = Clock::now();
  Json out;
  double opening = 0, built = 0;
  verifier::VerifyOptions options = verify_options();
  options.program = submission.code.language == llm::Language::cuda ? "candidate.cu" : "candidate.py";
  // A graph's weights lie beside it.
  const fs::path file = task.file.filename() == graph_file ? task.file.parent_path() : task.file;
  auto open = [&]() -> Result<std::unique_ptr<verifier::Verifier>> {
    const TaskOptions how{
        .mode = options_.judging.mode, .python = options_.python, .limits = code::limits_on(options_.gpu)};
    STITCH_TRY(verifier::OpenedTask ready, verifier::open_task_to_judge(file, how));
    return verifier::Verifier::open(std::move(ready), options);
  };
  auto meanwhile = [&] {
    const auto from = Clock::now();
    build(submission);
    built += seconds_since(from);
  };
  // A reference that is gone is no fault of the candidate's: once more, with another.
  for (const bool last : {false, true}) {
    const auto asked = Clock::now();
    auto opened = open_.take(task.name, task.hash, options, open, meanwhile);
    opening += seconds_since(asked);
    if (!opened) {
      out = not_judged(task, opened.error());
      break;
    }
    const bool used_before = (*opened)->judged > 1;
    auto answer = contained([&] { return scored(**opened, task, submission); });
    open_.put_back(*opened, static_cast<bool>(answer));
    out = answer ? *std::move(answer) : not_judged(task, answer.error());
    if (answer || last || !used_before) break;
  }
  Json& seconds = out["seconds"];
  if (!seconds.is_object()) seconds = Json::object();
  if (built > 0) seconds["build"] = built + seconds.value("build", 0.0);
  seconds["open"] = std::max(0.0, opening - built);
  seconds["total"] = seconds_since(begin);
  out["machine"] = options_.machine;
  out["date"] = verifier::utc_now();
  return out;
}

Json to_json(const Judging& judging) {
  return {{"version", judging.version},
          {"numerics", name(judging.numerics)},
          {"device", judging.device == runner::Device::cuda ? "cuda" : "emulated"},
          {"baselines", judging.baselines},
          {"quick", judging.quick},
          {"timing", judging.timing},
          {"shared_processes", judging.shared_process},
          {"kernelbench", judging.kernelbench_compatible},
          {"time_limit", judging.time_limit / std::chrono::seconds(1)},
          {"reward", info(judging.reward).name},
          {"mode", name(judging.mode)}};
}

Result<Judging> judging_from_json(const Json& json) {
  Judging out;
  try {
    out.version = json.at("version").get<std::string>();
    STITCH_TRY(out.numerics, parse_numerics(json.at("numerics").get<std::string>()));
    out.device = json.at("device") == "cuda" ? runner::Device::cuda : runner::Device::emulated;
    out.baselines = json.at("baselines").get<std::vector<std::string>>();
    out.quick = json.at("quick").get<bool>();
    out.timing = json.at("timing").get<bool>();
    out.shared_process = json.value("shared_processes", false);
    out.kernelbench_compatible = json.at("kernelbench").get<bool>();
    out.time_limit = std::chrono::seconds(json.at("time_limit").get<int>());
    STITCH_TRY(out.reward, rubric::parse_reward(json.at("reward").get<std::string>()));
    if (auto mode = parse_mode(json.at("mode").get<std::string>())) out.mode = *mode;
  } catch (const Json::exception& wrong) {
    return work_error("judging", format("the service's settings can't be read: {}", wrong.what()),
                      "use the same version of stitchcuda on both sides");
  }
  return out;
}

}  // namespace stitch::serve
